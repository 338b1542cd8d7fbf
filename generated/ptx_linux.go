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
var shippedPTX embed.FS

// ptxFiles are all those of the program, by the pattern of their folders. Those of bundles
// that only tests run are not there with the build tag release.
var ptxFiles = map[string]embed.FS{"*/": shippedPTX}

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
	for folder, files := range ptxFiles {
		paths, err := fs.Glob(files, folder+b.Name+".ptx.gz")
		if err != nil {
			return nil, err
		}
		if len(paths) > 0 {
			return files.ReadFile(paths[0])
		}
	}
	if own := b.In(plan.ClassNVIDIA, bundles); own != nil && own.Name != b.Name {
		return nil, fmt.Errorf("bundle %s is not compiled for NVIDIA GPUs, which run %s: leave out -bundle", b.Name, own.Name)
	}
	return nil, advised(b, errors.New("this program has no kernels of it for NVIDIA GPUs"))
}
