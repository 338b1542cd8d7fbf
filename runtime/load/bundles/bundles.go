// Package bundles finds the bundle that runs a model file: in the bundle file that is asked for, else in the
// one next to the model, in the user's folder of bundle files, or in the program. It also finds the compiled
// kernels of a bundle: PTX in the bundle's file or beside the program, and Metal libraries in the file.
package bundles

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"mla/runtime/gguf"
	"mla/runtime/load/bind"
	"mla/runtime/plan"
	"mla/runtime/plan/bundlefile"
)

// Finder looks for bundles. It reads each bundle file once. It is not safe for concurrent use.
type Finder struct {
	Program []*plan.Bundle                // bundles that are compiled into the program
	Folder  string                        // the user's bundle files; "": none
	Note    func(format string, a ...any) // called with the reason why a bundle file is skipped
	// Make makes a bundle file for a model that no bundle fits; nil: no bundle is made.
	Make    func(file *gguf.File, act string) (path string, err error)
	shelves map[string]*shelf // by path
}

// shelf is a place with bundles: a bundle file, or the program.
type shelf struct {
	file    *bundlefile.File // nil: the program, or a file that cannot be read
	bundles []*plan.Bundle
}

// Choose calls bind.Resolved.Choose for one place after the other, until one has the wish: if the wish names
// a bundle file, only for that file; else for the bundle file next to the model, those in the user's folder,
// and the program. If none has it, and the wish names no bundle, a bundle file is made. An error covers all
// places. file is the model's, or the one with its MTP layer.
func (f *Finder) Choose(model string, file *bind.Resolved, wish bind.Wish) (*plan.Bundle, error) {
	if IsFile(wish.Bundle) {
		own, err := f.open(wish.Bundle)
		if err != nil {
			return nil, err
		}
		wish.Bundle = ""
		b, err := file.Choose(own.bundles, wish)
		var misfit *bind.FitError
		if errors.As(err, &misfit) && misfit.Bundle != "" {
			misfit.Asked = true
		}
		return b, err
	}
	var all []*plan.Bundle
	for s := range f.places(model) {
		all = append(all, s.bundles...)
		if b, err := file.Choose(s.bundles, wish); err == nil {
			return b, nil
		}
	}
	b, err := file.Choose(all, wish)
	if err == nil || wish.Bundle != "" || f.Make == nil {
		return b, err
	}
	made, failed := f.Make(file.File, cmp.Or(wish.Act, wish.Prefer))
	if failed != nil {
		return nil, &NotMadeError{Misfit: err, Reason: failed}
	}
	own, failed := f.open(made)
	if failed != nil {
		return nil, failed
	}
	return file.Choose(own.bundles, wish)
}

// NotMadeError says that no bundle fits, and that none could be made.
type NotMadeError struct{ Misfit, Reason error }

// Error says why none could be made, or how to make one.
func (e *NotMadeError) Error() string {
	if errors.Is(e.Reason, errNoCompiler) {
		return fmt.Sprintf("%v\n%v", e.Misfit, e.Reason)
	}
	return fmt.Sprintf("no bundle fits, and mlagen made none: %v", e.Reason)
}

// Unwrap returns both errors.
func (e *NotMadeError) Unwrap() []error { return []error{e.Misfit, e.Reason} }

// IsFile says whether a bundle is named by its file. Names of bundles have no dot.
func IsFile(bundle string) bool { return strings.HasSuffix(bundle, bundlefile.Suffix) }

// places yields the places that are searched by default. A file that cannot be read is skipped, with one
// note.
func (f *Finder) places(model string) iter.Seq[*shelf] {
	return func(yield func(*shelf) bool) {
		for _, path := range append([]string{bundlefile.Beside(model)}, f.installed(model)...) {
			s, err := f.open(path)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				continue
			case err != nil:
				if f.Note != nil {
					f.Note("%v\n", err)
				}
				f.keep(path, &shelf{})
				continue
			}
			if !yield(s) {
				return
			}
		}
		yield(&shelf{bundles: f.Program})
	}
}

// installed lists the user's bundle files; those named after the model come first.
func (f *Finder) installed(model string) []string {
	if f.Folder == "" {
		return nil
	}
	paths, _ := filepath.Glob(filepath.Join(f.Folder, "*"+bundlefile.Suffix)) // it fails only for a malformed pattern
	name := filepath.Base(bundlefile.Beside(model))
	slices.SortStableFunc(paths, func(a, b string) int { return cmp.Compare(rank(a, name), rank(b, name)) })
	return paths
}

func rank(path, name string) int {
	if filepath.Base(path) == name {
		return 0
	}
	return 1
}

// open reads a bundle file, once.
func (f *Finder) open(path string) (*shelf, error) {
	if s, ok := f.shelves[path]; ok {
		return s, nil
	}
	file, err := bundlefile.Open(path)
	if err != nil {
		return nil, err
	}
	s := &shelf{file, file.Bundles}
	f.keep(path, s)
	return s, nil
}

func (f *Finder) keep(path string, s *shelf) {
	if f.shelves == nil {
		f.shelves = map[string]*shelf{}
	}
	f.shelves[path] = s
}

// FileOf is the file that a bundle comes from; nil: the program.
func (f *Finder) FileOf(b *plan.Bundle) *bundlefile.File {
	for _, s := range f.shelves {
		if slices.Contains(s.bundles, b) {
			return s.file
		}
	}
	return nil
}

// For lists all bundles that Choose would choose from.
func (f *Finder) For(model, bundle string) (all []*plan.Bundle, err error) {
	if IsFile(bundle) {
		return f.Of(bundle)
	}
	for s := range f.places(model) {
		all = append(all, s.bundles...)
	}
	return all, nil
}

// Of lists all bundles of a bundle file, or for "" of the program.
func (f *Finder) Of(bundle string) ([]*plan.Bundle, error) {
	if !IsFile(bundle) {
		return f.Program, nil
	}
	s, err := f.open(bundle)
	if err != nil {
		return nil, err
	}
	return s.bundles, nil
}
