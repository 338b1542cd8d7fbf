package bundles

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"mla/runtime/plan"
	"mla/runtime/plan/ptxfile"
)

// makePTX has the commands that put PTX files beside a program.
const makePTX = "make ptx && make build"

// folders returns the folders with the PTX files of a program's bundles: the program's folder, and share/mla of the
// installation. mlagen ptx makes these files, see gen/ptx.
var folders = sync.OnceValue(func() []string {
	path, err := os.Executable()
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return nil
	}
	dir := filepath.Dir(path)
	return []string{dir, filepath.Join(filepath.Dir(dir), "share", "mla")}
})

// programPTX returns the PTX text of a bundle of the program, see ptxfile.Text.
func (f *Finder) programPTX(b *plan.Bundle) (string, error) {
	file, err := f.readPTX(b)
	if err != nil {
		return "", err
	}
	text, err := ptxfile.Text(b, file)
	return text, advised(b, err)
}

// programHasPTX returns an error that says why a bundle of the program has no usable PTX file; nil: it has one.
func (f *Finder) programHasPTX(b *plan.Bundle) error {
	file, err := f.readPTX(b)
	if err != nil {
		return err
	}
	return advised(b, ptxfile.Check(b, file))
}

// advised returns err with the bundle's name and the commands that make its PTX; nil for nil. A stale PTX file is
// an error and never used.
func advised(b *plan.Bundle, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("bundle %s: %w; run %s", b.Name, err, makePTX)
}

// readPTX returns the content of the PTX file of a bundle of the program.
func (f *Finder) readPTX(b *plan.Bundle) ([]byte, error) {
	for _, folder := range folders() {
		file, err := readBeside(filepath.Join(folder, ptxfile.FileName(b.Name)))
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return file, err
		}
	}
	if own := b.In(plan.ClassNVIDIA, f.Program); own != nil && own.Name != b.Name {
		return nil, fmt.Errorf("bundle %s is not compiled for NVIDIA GPUs, which run %s: leave out -bundle", b.Name, own.Name)
	}
	return nil, advised(b, errors.New("no kernels of it for NVIDIA GPUs lie beside this program"))
}

// maxFile is the maximum size in bytes of a PTX file, about 16 times the largest one.
const maxFile = 64 << 20

func readBeside(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s has more than %d MiB", path, maxFile>>20)
	}
	return data, err
}
