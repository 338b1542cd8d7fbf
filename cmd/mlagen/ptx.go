package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"

	"mla/gen"
	"mla/gen/golang"
	"mla/gen/msl"
	"mla/gen/ptx"
	"mla/gen/spec"
	"mla/runtime/plan"
	"mla/runtime/plan/pieces"
	"mla/runtime/plan/ptxfile"
	"mla/runtime/system/atomicfile"
)

func newPTX() *cobra.Command {
	var path string
	var all, force bool
	c := command("ptx -spec F | -all", "compile generated bundles for NVIDIA GPUs; needs clang-19, not CUDA", func(stdout, _ io.Writer) error {
		return compilePTX(path, all, force, stdout)
	})
	c.Long = "Compiles the bundles in generated/ that NVIDIA GPUs run, if they changed. `make build`\nputs them beside mlarun. It needs clang-19, and neither CUDA nor a GPU."
	c.Flags().StringVar(&path, "spec", "", "`file` with the one spec whose bundles are compiled")
	c.Flags().BoolVar(&all, "all", false, "those of every spec in specs/")
	c.Flags().BoolVarP(&force, "force", "f", false, "also those that did not change")
	return c
}

// compilePTX compiles PTX of bundles that are already in generated/.
func compilePTX(path string, all, force bool, stdout io.Writer) error {
	if all == (path != "") {
		return fmt.Errorf("%w: give either -spec F or -all", errUsage)
	}
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	paths := []string{path}
	if all {
		if paths, err = specFiles(root); err != nil {
			return err
		}
	}
	specs, err := variants(paths)
	if err != nil {
		return err
	}
	specs = slices.DeleteFunc(specs, func(s *spec.Spec) bool { return !s.Serves(plan.ClassNVIDIA) })
	tests, err := referenceNames(root)
	if err != nil {
		return err
	}
	var made atomic.Int32
	err = each(specs, func(s *spec.Spec) error {
		path := ptxPath(folderOf(root, s), s.Name, slices.Contains(tests, spec.Name(s.File)))
		wrote, err := writePTX(root, path, s, force, stdout)
		if wrote {
			made.Add(1)
		}
		return err
	})
	if err == nil {
		fmt.Fprintf(stdout, "PTX of %d bundles: %d compiled, %d were up to date\n", len(specs), made.Load(), len(specs)-int(made.Load()))
	}
	return err
}

// each calls f for every element of a list on all CPU cores, and joins the errors.
func each[T any](list []T, f func(T) error) error {
	errs := make([]error, len(list))
	var all sync.WaitGroup
	slots := make(chan struct{}, runtime.NumCPU())
	for i, e := range list {
		all.Add(1)
		go func() {
			defer all.Done()
			slots <- struct{}{}
			errs[i] = f(e)
			<-slots
		}()
	}
	all.Wait()
	return errors.Join(errs...)
}

// ptxPath returns the path of a bundle's PTX: in the folder of its spec, or in reference/ below it if only
// tests run the bundle. Programs for users do not have that folder beside them.
func ptxPath(folder, bundle string, reference bool) string {
	if reference {
		folder = filepath.Join(folder, golang.ReferenceFolder)
	}
	return filepath.Join(folder, ptxfile.FileName(bundle))
}

// writePTX compiles a bundle's PTX to a file. A file that is up to date is kept unless force is set.
func writePTX(root, path string, s *spec.Spec, force bool, stdout io.Writer) (wrote bool, err error) {
	b, err := gen.Compile(s, nil)
	if err != nil {
		return false, err
	}
	library, err := msl.Library()
	if err != nil {
		return false, err
	}
	if stale := staleSource(folderOf(root, s), b, library); stale != "" {
		return false, fmt.Errorf("%s is out of date or missing; run go generate ./... first", stale)
	}
	if checkPTX(path, b) == nil && !force {
		return false, nil
	}
	file, err := ptx.Build(b)
	if err != nil {
		return false, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return false, err
	}
	fmt.Fprintf(stdout, "%s (%d bytes)\n", path, len(file))
	return true, atomicfile.Write(path, file)
}

// staleSource returns the path of the file in folder that should contain b's Metal source, or its hash, and
// does not. The result is empty if the folder is up to date.
func staleSource(folder string, b *plan.Bundle, library *pieces.Library) string {
	path := filepath.Join(folder, golang.SourceFile(b))
	has := func(text string) bool { return text == library.Kernels(b.Source) }
	if kept := golang.Kept(b); kept.Source == "" {
		path = filepath.Join(folder, packageMark)
		has = func(text string) bool { return strings.Contains(text, strconv.Quote(kept.SourceHash)) }
	}
	if text, err := os.ReadFile(path); err != nil || !has(string(text)) {
		return path
	}
	return ""
}

// checkPTX returns an error that says why the file at path is not the PTX of b, or nil if it is.
func checkPTX(path string, b *plan.Bundle) error {
	file, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return ptx.Check(b, file)
}
