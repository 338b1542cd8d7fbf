// Package ptxfile reads a bundle's kernels compiled for NVIDIA GPUs: PTX compressed by gzip. Its first lines
// have the hash of the Metal source that it was compiled from. gen/ptx writes it.
package ptxfile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"

	"mla/runtime/plan"
)

// Extension is the ending of the name of a PTX file.
const Extension = ".ptx.gz"

// FileName returns the name of the PTX file of a bundle.
func FileName(bundle string) string { return bundle + Extension }

const (
	// headBytes is enough for the first lines.
	headBytes = 1024
	// maxText is the largest size after unpacking, some 64 times that of the largest bundle.
	maxText = 1 << 28
)

// Check says why a file is not PTX that was compiled from b's source; nil: its first lines say that it is.
// The rest is not checked.
func Check(b *plan.Bundle, file []byte) error {
	_, err := open(b, file)
	return err
}

// Text is the PTX of a bundle: one .entry for each variant, under the variant's name, with a pointer
// parameter for each slot of its kernel. It fails for PTX of another source.
func Text(b *plan.Bundle, file []byte) (string, error) {
	r, err := open(b, file)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	n, err := io.Copy(&text, io.LimitReader(r, maxText))
	switch {
	case err != nil:
		return "", fmt.Errorf("its PTX: %w", err)
	case n == maxText:
		return "", fmt.Errorf("its PTX: %d bytes or more", maxText)
	}
	return text.String(), nil
}

// open checks the first lines of a PTX file, and returns a reader of its text.
func open(b *plan.Bundle, file []byte) (io.Reader, error) {
	r, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		return nil, fmt.Errorf("its PTX: %w", err)
	}
	text := bufio.NewReaderSize(r, headBytes)
	head, err := text.Peek(headBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("its PTX: %w", err)
	}
	if want := "kernels.metal sha256:" + b.SourceSum() + "\n"; !strings.Contains(string(head), want) {
		return nil, errors.New("its PTX is not from this Metal source")
	}
	return text, nil
}
