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

// PTX is what CUDA runs of a bundle: that of its file, or what lies beside the program.
func (f *Finder) PTX(b *plan.Bundle) (string, error) {
	file := f.FileOf(b)
	if file == nil {
		return f.programPTX(b)
	}
	text, err := ptxfile.Text(b, file.PTX[b.Name])
	return text, lacking(file, b, err)
}

// HasPTX says why there is none; nil: there is.
func (f *Finder) HasPTX(b *plan.Bundle) error {
	file := f.FileOf(b)
	if file == nil {
		return f.programHasPTX(b)
	}
	return lacking(file, b, ptxfile.Check(b, file.PTX[b.Name]))
}

// lacking says what helps against an error about the PTX of a bundle file.
func lacking(file *bundlefile.File, b *plan.Bundle, err error) error {
	switch {
	case err == nil:
		return nil
	case file.PTX[b.Name] == nil:
		err = errors.New("it has no kernels for NVIDIA GPUs")
	}
	return fmt.Errorf("bundle %s of %s: %w; make it again with mlagen … -ptx, which needs clang-19", b.Name, file.Path, err)
}

// MetalLibrary is a folder with the library which Apple's compiler made of a bundle and
// its bundle file holds, as metal.Options.Compiled has it; "" if it holds none. The folder
// is below cache and named after the library's bytes: nothing else is ever made of it.
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
