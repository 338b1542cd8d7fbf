package gguf

import (
	"fmt"
	"strings"

	"mla/runtime/quant"
)

// CheckTypes fails if the model has tensors of types that package quant does not support. The error names the
// type, the number of tensors with it, and a remedy. Blocks after the model's layers do not count, as they
// need not be used.
func (f *File) CheckTypes(h *HParams) error {
	var first *Tensor
	n := 0
	for i := range f.Tensors {
		t := &f.Tensors[i]
		if _, known := quant.InFiles(t.Type); known || after(t.Name, h.NumHiddenLayers) {
			continue
		}
		if n++; first == nil {
			first = t
		}
	}
	if first == nil {
		return nil
	}
	if n == 1 {
		return fmt.Errorf("%s: tensor %q has a type that this program does not run: %s", f.Path, first.Name, Unread(first.Type))
	}
	return fmt.Errorf("%s: tensor %q and %d more have types that this program does not run: the first has %s", f.Path, first.Name, n-1, Unread(first.Type))
}

// after says whether a tensor belongs to a block after the layers.
func after(name string, layers int) bool {
	var block int
	n, err := fmt.Sscanf(name, "blk.%d.", &block)
	return n == 1 && err == nil && block >= layers
}

// Unread names a type that package quant does not support, with a remedy.
func Unread(t quant.Type) string {
	var names []string
	for _, format := range quant.Formats() {
		if !format.Loaded {
			names = append(names, strings.ToUpper(format.Name))
		}
	}
	name := strings.ToUpper(t.String())
	switch t.Origin() {
	case "removed":
		name += ", which llama.cpp has removed; the Q4_0 or IQ4_NL file of the same model replaces it"
	case "":
		name += "; another file of the same model may have types that run"
	default:
		name += " of " + t.Origin() + "; that program runs it, or take another file of the same model"
	}
	return name + ". Types that run: " + strings.Join(names, ", ")
}
