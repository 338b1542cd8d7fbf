package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mla/gen"
	"mla/gen/explain"
)

func newExplain() *cobra.Command {
	var v specFlags
	var args []string
	c := command("explain SPEC [KERNEL]", "why the kernels of a spec are what they are", func(out, _ io.Writer) error {
		args := v.argument(args)
		if len(args) > 1 {
			return fmt.Errorf("%w: unexpected argument %q", errUsage, args[1])
		}
		return explainSpec(&v, args, out)
	})
	c.Args = func(_ *cobra.Command, list []string) error {
		args = list
		return nil
	}
	c.Long = "Says of each kernel, or of one, which passes brought its ops together, what these decided,\nwhere the shape of its threadgroups is from, and what its dispatches wait for. Names of\nkernels that take several rows end in _x and their number."
	c.Example = "  mlagen explain specs/glm47flash.yaml attend\n  mlagen explain -class nvidia specs/glm47flash.yaml q_b_store_kv"
	v.add(c)
	return c
}

// explainSpec explains all kernels of a spec, or the one that kernel names.
func explainSpec(v *specFlags, kernel []string, out io.Writer) error {
	s, err := v.load("explain")
	if err != nil {
		return err
	}
	b, err := gen.Compile(s, nil)
	if err != nil {
		return err
	}
	list, err := explain.Make(s, b)
	if err != nil {
		return err
	}
	if len(kernel) == 0 {
		fmt.Fprintf(out, "%s: %d kernels for sequences of %v rows; a replay takes the narrowest that holds its rows\n\n", b.Name, len(list), s.Widths())
		return explain.Print(out, list)
	}
	one := slices.DeleteFunc(slices.Clone(list), func(k explain.Kernel) bool { return k.Name != kernel[0] })
	if len(one) == 0 {
		var names []string
		for _, k := range list {
			names = append(names, k.Name)
		}
		return fmt.Errorf("%w: %s has no kernel %q; it has %s", errUsage, v.path, kernel[0], strings.Join(names, ", "))
	}
	return explain.Print(out, one)
}
