package interp

import "mla/gen/ir"

// Value is what a row of the last replay computed for an activation. Routing holds the
// experts' indices, then their weights.
func (m *Machine) Value(row int, v *ir.Value) []float64 { return m.rows[row].values[v] }

// Cache holds the rows of a layer's latent cache of a session, one per position so far.
func (m *Machine) Cache(session, layer int) [][]float64 { return m.sessions[session].caches[layer] }
