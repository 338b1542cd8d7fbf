package generated

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"mla/runtime/plan"
	"mla/runtime/plan/ptxfile"
)

// Those files of PTX that are there when the program is built: mlagen ptx makes
// them, and few are kept in the repository (see .gitignore). gen/ptx says what is in them.
//
//go:embed */*.ptx.gz
var ptxFiles embed.FS

// makePTX are the commands that give a program the PTX that it lacks.
const makePTX = "make ptx && make build"

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

// readPTX is the file of a bundle, in the folder of its spec.
func readPTX(b *plan.Bundle) ([]byte, error) {
	paths, err := fs.Glob(ptxFiles, "*/"+b.Name+".ptx.gz")
	if own := b.In(plan.ClassNVIDIA, bundles); len(paths) == 0 && own != nil && own.Name != b.Name {
		return nil, fmt.Errorf("bundle %s is not compiled for NVIDIA GPUs, which run %s: leave out -bundle", b.Name, own.Name)
	}
	if len(paths) == 0 {
		return nil, advised(b, errors.Join(err, errors.New("this program has no kernels of it for NVIDIA GPUs")))
	}
	return ptxFiles.ReadFile(paths[0])
}
