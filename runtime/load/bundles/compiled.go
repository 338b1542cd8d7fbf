package bundles

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"mla/runtime/device/metal"
	"mla/runtime/plan"
	"mla/runtime/plan/bundlefile"
	"mla/runtime/plan/ptxfile"
	"mla/runtime/system/atomicfile"
)

// PTX is a bundle's PTX, from its file or from beside the program.
func (f *Finder) PTX(b *plan.Bundle) (string, error) {
	file := f.FileOf(b)
	if file == nil {
		return f.programPTX(b)
	}
	text, err := ptxfile.Text(b, file.PTX[b.Name])
	return text, lacking(file, b, err)
}

// HasPTX says why a bundle has no PTX; nil: it has.
func (f *Finder) HasPTX(b *plan.Bundle) error {
	file := f.FileOf(b)
	if file == nil {
		return f.programHasPTX(b)
	}
	return lacking(file, b, ptxfile.Check(b, file.PTX[b.Name]))
}

// lacking adds advice to an error about the PTX of a bundle file.
func lacking(file *bundlefile.File, b *plan.Bundle, err error) error {
	switch {
	case err == nil:
		return nil
	case file.PTX[b.Name] == nil:
		err = errors.New("it has no kernels for NVIDIA GPUs")
	}
	return fmt.Errorf("bundle %s of %s: %w; make it again with mlagen … -ptx, which needs clang-19", b.Name, file.Path, err)
}

// MetalLibrary returns a folder with a bundle's compiled Metal library from its bundle file, for
// metal.Options.Compiled; "": the file has none. The folder is below cache and named by a hash of the
// library, so its contents never change.
func (f *Finder) MetalLibrary(b *plan.Bundle, cache string) (folder string, err error) {
	file := f.FileOf(b)
	if file == nil || file.Metal[b.Name] == nil || cache == "" {
		return "", nil
	}
	library := file.Metal[b.Name]
	folder = filepath.Join(cache, "libraries", fmt.Sprintf("%x", sha256.Sum256(library)))
	path := filepath.Join(folder, metal.LibraryName(b))
	if _, err := os.Stat(path); err == nil {
		return folder, nil
	}
	return folder, errors.Join(os.MkdirAll(folder, 0o755), atomicfile.Write(path, library))
}
