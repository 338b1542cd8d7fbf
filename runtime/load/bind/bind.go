// Package bind joins a model file and a compiled bundle: it says precisely
// what does not fit, chooses among bundles, and finds every weight of a
// bundle in the file, without copying where the file has it as the kernels
// read it.
package bind

import (
	"mla/runtime/device"
	"mla/runtime/gguf"
	"mla/runtime/plan"
)

// Mapped files are aligned as devices need it.
var _ [0]struct{} = [gguf.MapAlign % device.MappedAlign]struct{}{}

// Bind finds the weights of b in f. The weights are views of f's mapped
// shards, so f must stay open while the model is in use; only what kernels want
// otherwise than the file has it is copied, into one further region: the key half of a
// legacy attn_kv_b, transposed, rotated rows in pairs, and a norm with a factor. A file
// that does not fit gives a *FitError.
func Bind(f *gguf.File, b *plan.Bundle) (*device.Model, error) {
	h := look(f)
	if bad := h.fit(b); len(bad) > 0 {
		return nil, &FitError{File: f.Path, Bundle: b.Name, Asked: true, Mismatches: bad}
	}
	m := &device.Model{Bundle: b, RopeFactors: h.factors}
	for i := range f.Shards {
		m.Regions = append(m.Regions, f.Shards[i].Data)
	}
	if f.Mapped() {
		m.Mapped = len(m.Regions)
	}
	copies := &copies{region: len(m.Regions)}
	for i := range b.Weights {
		w := &b.Weights[i]
		row := make([]device.Weight, layers(w))
		for l := range row {
			src, _ := find(f, b, w, l) // Fit has found it
			if src.copied() {
				row[l] = copies.add(src)
			} else {
				row[l] = src.view()
			}
		}
		m.Weights = append(m.Weights, row)
	}
	if copies.bytes > 0 {
		region, err := copies.make()
		if err != nil {
			return nil, err
		}
		m.Regions = append(m.Regions, region)
	}
	return m, nil
}

// CopyBytes is the memory that Bind takes for copies of weights, in bytes. The
// file must fit the bundle.
func CopyBytes(f *gguf.File, b *plan.Bundle) int64 {
	var n int64
	for i := range b.Weights {
		for l := range layers(&b.Weights[i]) {
			if src, bad := find(f, b, &b.Weights[i], l); bad == nil && src.copied() {
				n += padded(src.bytes)
			}
		}
	}
	return n
}

// layers is the number of tensors that a row of the weight table stands for.
func layers(w *plan.Weight) int {
	if w.First < 0 {
		return 1
	}
	return w.Last - w.First
}
