package generated

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"mla/runtime/plan"
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
	_, err := openPTX(b)
	return err
}

// PTX returns the kernels of a bundle compiled for NVIDIA GPUs: one .entry for each
// variant, under its name, with a pointer parameter for each slot of its kernel.
func PTX(b *plan.Bundle) (string, error) {
	r, err := openPTX(b)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	if _, err := io.Copy(&text, r); err != nil {
		return "", fmt.Errorf("bundle %s: its PTX: %w; run %s", b.Name, err, makePTX)
	}
	return text.String(), nil
}

// readPTX is the file of a bundle, in the folder of its spec.
func readPTX(bundle string) ([]byte, error) {
	paths, err := fs.Glob(ptxFiles, "*/"+bundle+".ptx.gz")
	if err != nil || len(paths) == 0 {
		return nil, errors.Join(err, fs.ErrNotExist)
	}
	return ptxFiles.ReadFile(paths[0])
}

// headBytes holds the first lines of PTX, which say what it was made from.
const headBytes = 1024

// openPTX begins to read a bundle's PTX if it was made from the bundle's own
// kernels.metal, whose hash is in the first lines: what is stale is never used.
func openPTX(b *plan.Bundle) (io.Reader, error) {
	file, err := readPTX(b.Name)
	if own := b.In(plan.ClassNVIDIA, bundles); errors.Is(err, fs.ErrNotExist) && own != nil && own.Name != b.Name {
		return nil, fmt.Errorf("bundle %s is not compiled for NVIDIA GPUs, which run %s: leave out -bundle", b.Name, own.Name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("bundle %s: this program has no kernels of it for NVIDIA GPUs; run %s", b.Name, makePTX)
	}
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		return nil, fmt.Errorf("bundle %s: its PTX: %w; run %s", b.Name, err, makePTX)
	}
	text := bufio.NewReaderSize(r, headBytes)
	head, err := text.Peek(headBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("bundle %s: its PTX: %w; run %s", b.Name, err, makePTX)
	}
	source := sha256.Sum256([]byte(b.Metal()))
	if want := "kernels.metal sha256:" + hex.EncodeToString(source[:]) + "\n"; !strings.Contains(string(head), want) {
		return nil, fmt.Errorf("bundle %s: its PTX is not from this Metal source; run %s", b.Name, makePTX)
	}
	return text, nil
}
