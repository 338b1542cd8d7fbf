// Package model opens a reference file: a model bound to its bundle, with a prompt and the expected logits.
package model

import (
	"fmt"

	"mla/generated"
	"mla/runtime/device"
	"mla/runtime/doctor/reference"
	"mla/runtime/gguf"
	"mla/runtime/load/bind"
)

// Model is an open reference file.
type Model struct {
	*reference.Reference
	Bound *device.Model
	file  *gguf.File
}

// Open opens stem.gguf, stem.tokens and stem.logits.npy, and binds the model to the bundle that fits best.
func Open(stem string) (*Model, error) {
	file, err := gguf.Open(stem + ".gguf")
	if err != nil {
		return nil, err
	}
	m := &Model{file: file}
	if err := m.read(stem); err != nil {
		_ = file.Close() // err is the error to report
		return nil, err
	}
	return m, nil
}

func (m *Model) read(stem string) error {
	r := bind.Resolve(m.file)
	b, err := r.Choose(generated.Bundles(), bind.Wish{})
	if err != nil {
		return err
	}
	if m.Bound, err = r.Bind(b); err != nil {
		return err
	}
	if m.Reference, err = reference.ReadPath(stem); err != nil {
		return err
	}
	if m.Vocab != b.Model.VocabSize {
		return fmt.Errorf("%s: logits of a vocabulary of %d; the model's has %d", stem, m.Vocab, b.Model.VocabSize)
	}
	return nil
}

// Close closes the file. Bound must not be used afterwards.
func (m *Model) Close() error { return m.file.Close() }
