package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"mla/gen"
	"mla/gen/golang"
	"mla/gen/ptx"
	"mla/gen/spec"
	"mla/runtime/atomicfile"
	"mla/runtime/plan"
)

// runPTX compiles bundles that are already generated for NVIDIA GPUs.
func runPTX(args []string, stdout io.Writer) error {
	f := newFlags("ptx")
	path := f.String("spec", "", "")
	all := f.Bool("all", false, "")
	force := f.Bool("f", false, "")
	if err := f.parse(args); err != nil {
		return err
	}
	if *all == (*path != "") {
		return fmt.Errorf("%w: give either -spec F or -all", errUsage)
	}
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	paths := []string{*path}
	if *all {
		if paths, err = specFiles(root); err != nil {
			return err
		}
	}
	specs, err := variants(paths)
	if err != nil {
		return err
	}
	specs = slices.DeleteFunc(specs, func(s *spec.Spec) bool { return !s.Serves(plan.ClassNVIDIA) })
	return each(specs, func(s *spec.Spec) error { return writePTX(root, s, *force, stdout) })
}

// each calls f with every element of a list, on as many cores as there are, and joins
// the errors.
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

// writePTX compiles one bundle unless that was done; force: in any case.
func writePTX(root string, s *spec.Spec, force bool, stdout io.Writer) error {
	b, err := gen.Compile(s, nil)
	if err != nil {
		return err
	}
	source, name := filepath.Join(folderOf(root, s), golang.SourceFile(b)), filepath.Join(folderOf(root, s), ptx.FileName(b.Name))
	if metal, err := os.ReadFile(source); err != nil || string(metal) != b.Source {
		return fmt.Errorf("%s is out of date or missing; run go generate ./... first", source)
	}
	if checkPTX(name, b) == nil && !force {
		return nil
	}
	file, err := ptx.Build(b)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s (%d bytes)\n", name, len(file))
	return atomicfile.Write(name, file)
}

// checkPTX says why the file at path is not the PTX of b; nil: it is.
func checkPTX(path string, b *plan.Bundle) error {
	file, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return ptx.Check(b, file)
}
