package generated

import (
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

// kernels.ptx.gz is made by mlagen ptx; gen/ptx says what is in it.
//
//go:embed */kernels.ptx.gz
var ptxFiles embed.FS

// PTX returns the kernels of a bundle compiled for NVIDIA GPUs: one .entry for each
// variant, under its name, with a pointer parameter for each slot of its kernel.
func PTX(b *plan.Bundle) (string, error) {
	file, err := ptxFiles.Open(b.Name + "/kernels.ptx.gz")
	if own := b.In(plan.ClassNVIDIA, bundles); errors.Is(err, fs.ErrNotExist) && own != nil {
		return "", fmt.Errorf("bundle %s is not compiled for NVIDIA GPUs, which run %s: leave out -bundle", b.Name, own.Name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("bundle %s is not compiled for NVIDIA GPUs; run make ptx and build again", b.Name)
	}
	if err != nil {
		return "", err
	}
	defer file.Close()
	r, err := gzip.NewReader(file)
	if err != nil {
		return "", fmt.Errorf("bundle %s: kernels.ptx.gz: %w", b.Name, err)
	}
	var text strings.Builder
	if _, err := io.Copy(&text, r); err != nil {
		return "", fmt.Errorf("bundle %s: kernels.ptx.gz: %w", b.Name, err)
	}
	source := sha256.Sum256([]byte(b.Source))
	if want := "kernels.metal sha256:" + hex.EncodeToString(source[:]) + "\n"; !strings.Contains(text.String()[:min(text.Len(), 1024)], want) {
		return "", fmt.Errorf("bundle %s: kernels.ptx.gz is not from this kernels.metal; run make ptx and build again", b.Name)
	}
	return text.String(), nil
}
