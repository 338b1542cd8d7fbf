// Package model opens the reference files: a model bound to its bundle, the prompt
// and the logits that it must compute.
package model

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"mla/generated"
	"mla/runtime/bind"
	"mla/runtime/device"
	"mla/runtime/gguf"
	"mla/runtime/npy"
)

// Model is a reference file.
type Model struct {
	Bound  *device.Model
	Prompt []int32
	Logits []float32 // [len(Prompt)][vocabulary]
	file   *gguf.File
}

// Open opens stem.gguf, stem.tokens and stem.logits.npy.
func Open(stem string) (*Model, error) {
	file, err := gguf.Open(stem + ".gguf")
	if err != nil {
		return nil, err
	}
	m := &Model{file: file}
	if err := m.read(stem); err != nil {
		_ = file.Close() // the first error counts
		return nil, err
	}
	return m, nil
}

func (m *Model) read(stem string) error {
	b, err := bind.Choose(m.file, generated.Bundles(), bind.Wish{})
	if err != nil {
		return err
	}
	if m.Bound, err = bind.Bind(m.file, b); err != nil {
		return err
	}
	if m.Prompt, err = prompt(stem + ".tokens"); err != nil {
		return err
	}
	f, err := os.Open(stem + ".logits.npy")
	if err != nil {
		return err
	}
	defer f.Close()
	var rows, vocab int
	if m.Logits, rows, vocab, err = npy.Read(f); err != nil {
		return err
	}
	if rows != len(m.Prompt) || rows == 0 || vocab != b.Model.VocabSize {
		return fmt.Errorf("%s: logits of %d by %d for %d tokens of a vocabulary of %d", stem, rows, vocab, len(m.Prompt), b.Model.VocabSize)
	}
	return nil
}

// prompt reads the line of a token file that begins with "prompt".
func prompt(path string) (ids []int32, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		list, ok := strings.CutPrefix(line, "prompt ")
		if !ok {
			continue
		}
		for _, word := range strings.Fields(list) {
			id, err := strconv.ParseInt(word, 10, 32)
			if err != nil {
				return nil, fmt.Errorf("%s: token %q: %w", path, word, err)
			}
			ids = append(ids, int32(id))
		}
	}
	return ids, nil
}

// Close closes the file; Bound must not be used afterwards.
func (m *Model) Close() error { return m.file.Close() }
