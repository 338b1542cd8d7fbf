package device

import (
	"fmt"

	"mla/runtime/quant"
)

// Weight is the place of one bound tensor: rows of Type, with entries BatchStride bytes apart.
type Weight struct {
	Tensor        string // GGUF name, for messages
	Region        int
	Offset, Bytes int64
	Type          quant.Type
	BatchStride   int64 // bytes between heads or experts
}

// At returns the binding of weight row i in a dispatch's layer.
func (m *Model) At(i, layer int) *Weight {
	return &m.Weights[i][m.Bundle.Weights[i].Index(layer)]
}

// Lookup is At with checks: it fails if there is no weight row i, if the row has no tensor in that layer, or
// if the binding is not inside its region.
func (m *Model) Lookup(i, layer int) (*Weight, error) {
	if i < 0 || i >= len(m.Bundle.Weights) || i >= len(m.Weights) {
		return nil, fmt.Errorf("weight %d of %d", i, min(len(m.Bundle.Weights), len(m.Weights)))
	}
	row := &m.Bundle.Weights[i]
	entry := row.Index(layer)
	if entry < 0 || entry >= len(m.Weights[i]) {
		return nil, fmt.Errorf("weight %s has no tensor in layer %d", row.Role, layer)
	}
	w := &m.Weights[i][entry]
	if w.Region < 0 || w.Region >= len(m.Regions) {
		return nil, fmt.Errorf("tensor %s: region %d of %d", w.Tensor, w.Region, len(m.Regions))
	}
	if size := int64(len(m.Regions[w.Region])); w.Offset < 0 || w.Bytes < 0 || w.Offset > size || w.Bytes > size-w.Offset {
		return nil, fmt.Errorf("tensor %s: %d bytes at %d do not fit a region of %d", w.Tensor, w.Bytes, w.Offset, size)
	}
	return w, nil
}

// checkWeights fails if Lookup fails for any weight.
func (m *Model) checkWeights() error {
	for i := range m.Bundle.Weights {
		w := &m.Bundle.Weights[i]
		for n := range w.Layers() {
			if _, err := m.Lookup(i, w.Layer(n)); err != nil {
				return err
			}
		}
	}
	return nil
}
