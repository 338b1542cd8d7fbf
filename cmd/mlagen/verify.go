package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"mla/gen/spec"
	"mla/runtime/plan"
	"mla/runtime/plan/bundlefile"
	"mla/runtime/plan/planjson"
)

// errForeign is returned for a bundle file that differs from what mlagen makes of its spec.
var errForeign = errors.New("not what this mlagen makes of the spec in the file; run it on a GPU only if you trust who made it")

func newVerify() *cobra.Command {
	return &cobra.Command{
		Use:   "verify F" + bundlefile.Suffix,
		Short: "compile the spec in a bundle file again and compare",
		Long:  "Compiles the spec in a bundle file again, and compares plans, kernels and PTX byte by byte.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%w: mlagen verify F%s", errUsage, bundlefile.Suffix)
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return verifyPath(args[0], c.OutOrStdout()) },
	}
}

// verifyPath verifies the bundle file at path and prints the result.
func verifyPath(path string, stdout io.Writer) error {
	file, err := bundlefile.Open(path)
	if err != nil {
		return err
	}
	if err := verifyFile(file); err != nil {
		return fmt.Errorf("%s: %w", file.Path, err)
	}
	_, err = fmt.Fprintf(stdout, "%s: %d bundles of %s, as mlagen makes them\n", file.Path, len(file.Bundles), file.Bundles[0].Spec)
	return err
}

// verifyFile compiles the spec again and compares every byte that a device is given. PTX can be compared only
// with the same version of clang. Metal libraries cannot be compared: Apple's compiler is not available
// everywhere.
func verifyFile(file *bundlefile.File) error {
	if len(file.Metal) > 0 {
		return fmt.Errorf("it has Metal libraries, which cannot be compared: %w", errForeign)
	}
	s, err := spec.Parse(file.Bundles[0].Spec, file.Spec)
	if err != nil {
		return err
	}
	want, err := (&bundleFlags{ptx: len(file.PTX) > 0}).compile(s, file.Spec)
	if err != nil {
		return err
	}
	if len(want.Bundles) != len(file.Bundles) || len(want.PTX) < len(file.PTX) {
		return errForeign
	}
	for _, b := range want.Bundles {
		alike, err := same(b, file.Of(b.Name))
		if err != nil {
			return err
		}
		if ptx := file.PTX[b.Name]; !alike || ptx != nil && !bytes.Equal(ptx, want.PTX[b.Name]) {
			return fmt.Errorf("bundle %s: %w", b.Name, errForeign)
		}
	}
	return nil
}

// same reports whether two bundles are equal. The Metal sources are compared as they are, because JSON would
// make them longer; the rest is compared as JSON.
func same(a, b *plan.Bundle) (bool, error) {
	if b == nil || a.Source != b.Source {
		return false, nil
	}
	tablesA, tablesB := *a, *b
	tablesA.Source, tablesB.Source = "", ""
	x, errX := planjson.Marshal([]*plan.Bundle{&tablesA})
	y, errY := planjson.Marshal([]*plan.Bundle{&tablesB})
	return bytes.Equal(x, y), errors.Join(errX, errY)
}
