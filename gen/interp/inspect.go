package interp

import "mla/gen/ir"

// Value returns what a row of the last replay computed for an activation. A Routing has the experts' indices,
// then their weights.
func (m *Machine) Value(row int, v *ir.Value) []float64 { return m.rows[row].values[v] }

// Cache returns the rows of a layer's latent cache in a session, one per position.
func (m *Machine) Cache(session, layer int) [][]float64 { return m.sessions[session].caches[layer] }
