package interp

import "mla/gen/ir"

// Value is what the last step computed for an activation. Routing holds the
// experts' indices, then their weights.
func (m *Machine) Value(v *ir.Value) []float64 { return m.values[v] }

// Cache holds the rows of a layer's latent cache, one per position so far.
func (m *Machine) Cache(layer int) [][]float64 { return m.caches[layer] }
