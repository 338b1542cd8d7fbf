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

// Bind finds the weights of b in the file. The weights are views of the file's mapped
// shards, so it must stay open while the model is in use; only what kernels want
// otherwise than the file has it is copied, into one further region: the key half of a
// legacy attn_kv_b, transposed, rotated rows in pairs, and a norm with a factor. A file
// that does not fit gives a *FitError.
func (r *Resolved) Bind(b *plan.Bundle) (*device.Model, error) {
	f := r.File
	if bad := r.Fit(b); len(bad) > 0 {
		return nil, &FitError{File: f.Path, Bundle: b.Name, Asked: true, Mismatches: bad}
	}
	m := r.Unbound(b)
	for i := range f.Shards {
		m.Regions = append(m.Regions, f.Shards[i].Data)
	}
	if f.Mapped() {
		m.Mapped = len(m.Regions)
	}
	copies := &copies{region: len(m.Regions)}
	for _, sources := range r.table(b).sources {
		row := make([]device.Weight, len(sources))
		for l, src := range sources {
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

// Unbound is the model without its weights: what memory it takes beside them can be asked.
func (r *Resolved) Unbound(b *plan.Bundle) *device.Model {
	return &device.Model{Bundle: b, RopeFactors: r.factors}
}

// CopyBytes is the memory that Bind takes for copies of weights, in bytes. The
// file must fit the bundle.
func (r *Resolved) CopyBytes(b *plan.Bundle) int64 {
	var n int64
	for _, sources := range r.table(b).sources {
		for _, src := range sources {
			if src != nil && src.copied() {
				n += padded(src.bytes)
			}
		}
	}
	return n
}
