package reference

import (
	"mla/runtime/device"
	"mla/runtime/plan"
)

// Profile returns a model of a bundle whose weights have the types of a profile, but no memory. It says which
// kernels a file of such types needs, whatever the size of the file.
func Profile(b *plan.Bundle, p *plan.Profile) *device.Model {
	m := &device.Model{Bundle: b, Regions: [][]byte{nil}, Weights: make([][]device.Weight, len(b.Weights))}
	for i, w := range b.Weights {
		m.Weights[i] = make([]device.Weight, w.Layers())
		for l := range m.Weights[i] {
			m.Weights[i][l] = device.Weight{Tensor: w.GGUF, Type: p.At(i, l)}
		}
	}
	return m
}
