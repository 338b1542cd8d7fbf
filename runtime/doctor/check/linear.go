package check

import (
	"math"

	"mla/runtime/device"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// caches returns the memory of the model's caches. A kernel that reads the cache belongs to a model of one
// layer; a kernel that updates states reads none.
func (m *memory) caches() [][]byte {
	var list [][]byte
	for range m.model.Bundle.Model.CacheLayers() {
		list = append(list, m.cache)
	}
	return list
}

// stateAt returns the offset of a layer's state in a slot, in bytes.
func (m *memory) stateAt(layer int) int64 {
	s := m.model.Bundle.Model.State()
	return s.At(layer)
}

// fillLinear fills a slot with inputs of the delta rule: vectors of about length 1, or numbers from 0 to 1.
func (m *memory) fillLinear(slot int, role plan.Role) {
	m.eachRow(slot, func(_ int, buf []byte) {
		n := len(buf) / 4
		if role == plan.RoleShare {
			putNumbers(buf, 4, m.shares(n))
			return
		}
		putNumbers(buf, 4, m.normal(n, 0, 1/math.Sqrt(float64(m.arguments.state.Dim))))
	})
}

// fillStates fills the states of the sessions that have rows if a result is the kernel's states. All other
// numbers stay poison, which the kernel must neither read nor write.
func (m *memory) fillStates(slot int, role plan.Role) {
	if role != plan.RoleState {
		return
	}
	s := m.arguments.state
	all := floats(m.buffers[slot])
	for i := range m.sessions {
		copy(all[(rowTable+i)*s.Slot:], m.normal(s.LayerFloats(), 0, 0.3))
	}
}

// decay says how a state decays: the slots of the factors and of the gate's addend, and the bound.
type decay struct {
	a, dt int
	bound float64
}

// shares returns n numbers from 0 to 1, most of them near 1: with smaller factors the state would forget the
// errors that the comparison is to find.
func (m *memory) shares(n int) []float32 {
	x := m.normal(n, 0, 0.1)
	for i, v := range x {
		x[i] = float32(math.Exp(-math.Abs(float64(v))))
	}
	return x
}

// table fills a slot with parameters of linear attention: factors with which a state decays, and norms around
// 1.
func (m *memory) table(slot int) error {
	decay, row := m.arguments.decay, &m.model.Bundle.Weights[m.dispatch().Operands[slot].Index]
	x := m.normal(row.Rows*row.Cols, 0, 0.5)
	for i := range x {
		switch {
		case slot == decay.a && m.arguments.state != nil:
			if x[i] = float32(math.Abs(float64(x[i]))) + 0.1; decay.bound == 0 {
				x[i] = -x[i]
			}
		case slot == decay.dt && m.arguments.state != nil:
			if i%8 == 0 { // gates at both ends of their range, too
				x[i] *= 60
			}
		case row.Rows == 1: // the weights of a norm
			x[i]++
		}
	}
	data := make([]byte, 4*len(x))
	putNumbers(data, 4, x)
	m.bind(slot, device.Weight{Type: quant.F32}, data)
	return nil
}
