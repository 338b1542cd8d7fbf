package check

import (
	"math"

	"mla/runtime/device"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// caches are the model's: a kernel that reads one is of a model of one layer, and one that moves states on reads none.
func (m *memory) caches() [][]byte {
	var list [][]byte
	for range m.model.Bundle.Model.CacheLayers() {
		list = append(list, m.cache)
	}
	return list
}

// stateAt is where a layer's state is in a slot, in bytes.
func (m *memory) stateAt(layer int) int64 {
	s := m.model.Bundle.Model.State()
	return s.At(layer)
}

// fillStates fills the kernel's states of the sessions that have rows. Other numbers stay poison, which nothing may
// read, nor write.
func (m *memory) fillStates(slot int) {
	p := m.arguments.delta
	s := plan.State{Heads: p.Heads, Dim: p.Dim, Taps: p.Taps}
	all := floats(m.buffers[slot])
	for i := range m.sessions {
		copy(all[(rowTable+i)*p.Slot:], m.normal(s.LayerFloats(), 0, 0.3))
	}
}

// table fills a slot with parameters of linear attention: factors of decays that let it decay, norms around 1.
func (m *memory) table(slot int) error {
	p, row := m.arguments.delta, &m.model.Bundle.Weights[m.dispatch().Operands[slot].Index]
	x := m.normal(row.Rows*row.Cols, 0, 0.5)
	for i := range x {
		switch slot {
		case p.A:
			if x[i] = float32(math.Abs(float64(x[i]))) + 0.1; p.Bound == 0 {
				x[i] = -x[i]
			}
		case p.Norm:
			x[i]++
		case p.DT:
			if i%8 == 0 { // gates at both ends, too
				x[i] *= 60
			}
		}
	}
	data := make([]byte, 4*len(x))
	putNumbers(data, 4, x)
	m.bind(slot, device.Weight{Type: quant.F32}, data)
	return nil
}
