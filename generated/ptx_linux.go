package generated

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

// makePTX are the commands that give a program the PTX that it lacks.
const makePTX = "make ptx && make build"

// folders are where PTX lies that a program was not built with (mlagen ptx makes it, gen/ptx
// says what is in it): beside the program, and in share/mla of where it is installed.
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

// HasPTX says why the program has no kernels of a bundle for NVIDIA GPUs; nil: it has.
func HasPTX(b *plan.Bundle) error {
	file, err := readPTX(b)
	if err == nil {
		err = advised(b, ptxfile.Check(b, file))
	}
	return err
}

// PTX returns the kernels of a bundle compiled for NVIDIA GPUs, see ptxfile.Text.
func PTX(b *plan.Bundle) (string, error) {
	file, err := readPTX(b)
	if err != nil {
		return "", err
	}
	text, err := ptxfile.Text(b, file)
	return text, advised(b, err)
}

// advised says what helps against an error about a bundle's PTX: what is stale is never
// used.
func advised(b *plan.Bundle, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("bundle %s: %w; run %s", b.Name, err, makePTX)
}

// extension ends the names of files of PTX.
const extension = ".ptx.gz"

// readPTX is the file of a bundle: one that the program was built with, or one beside it.
func readPTX(b *plan.Bundle) ([]byte, error) {
	for _, pattern := range []string{"*/", "*/reference/"} {
		paths, err := fs.Glob(ptxFiles, pattern+b.Name+extension)
		if err != nil {
			return nil, err
		}
		if len(paths) > 0 {
			return ptxFiles.ReadFile(paths[0])
		}
	}
	for _, folder := range folders() {
		file, err := readBeside(filepath.Join(folder, b.Name+extension))
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return file, err
		}
	}
	if own := b.In(plan.ClassNVIDIA, bundles); own != nil && own.Name != b.Name {
		return nil, fmt.Errorf("bundle %s is not compiled for NVIDIA GPUs, which run %s: leave out -bundle", b.Name, own.Name)
	}
	return nil, advised(b, errors.New("this program has no kernels of it for NVIDIA GPUs, and none lie beside it"))
}

// maxFile bounds what is read; some 16 times the largest file.
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
