package interp

import (
	"mla/gen/ir"
	"mla/runtime/plan/formula"
)

// state returns what a session keeps of a value between tokens, at first zeros.
func (m *Machine) state(v *ir.Value) []float64 {
	if m.states[v] == nil {
		m.states[v] = make([]float64, v.Len)
	}
	return m.states[v]
}

// convolve keeps the inputs of the last tokens of each channel as state, oldest first: [channel][taps-1].
func convolve(m *Machine, op *ir.Op) {
	x, out, window := m.in(op, 0, 0), m.out(op, 0), m.state(op.State)
	w, _, taps := m.weight(op, 0, 0)
	for c, v := range x {
		out[c] = formula.Convolve(w[c*taps:(c+1)*taps], window[c*(taps-1):(c+1)*(taps-1)], v)
	}
}

func silu(m *Machine, op *ir.Op) {
	out := m.out(op, 0)
	for i, x := range m.in(op, 0, 0) {
		out[i] = formula.SiLU(x)
	}
}

func sigmoid(m *Machine, op *ir.Op) {
	out := m.out(op, 0)
	for i, x := range m.in(op, 0, 0) {
		out[i] = formula.Logistic(x)
	}
}

func l2Norm(m *Machine, op *ir.Op) {
	out := m.out(op, 0)
	for h := range op.Heads {
		x := m.in(op, 0, h)
		copy(out[h*len(x):], formula.L2Norm(x, op.Eps))
	}
}

func softplusDecay(m *Machine, op *ir.Op) { decay(m, op, 0) }

func boundedDecay(m *Machine, op *ir.Op) { decay(m, op, op.Limit) }

func decay(m *Machine, op *ir.Op, bound float64) {
	out := m.out(op, 0)
	a, _, _ := m.weight(op, 0, 0)
	bias, _, _ := m.weight(op, 1, 0)
	for h := range op.Heads {
		x := m.in(op, 0, h)
		for i, v := range x {
			at := h*len(x) + i
			out[at] = formula.Decay(float64(a[h]), v+float64(bias[at]), bound)
		}
	}
}

// deltaRule keeps a matrix for each head as state: [head][key][value].
func deltaRule(m *Machine, op *ir.Op) {
	out, state := m.out(op, 0), m.state(op.State)
	for h := range op.Heads {
		q, k, v, keep, beta := m.in(op, 0, h), m.in(op, 1, h), m.in(op, 2, h), m.in(op, 3, h), m.in(op, 4, h)[0]
		n := len(q)
		copy(out[h*n:], formula.Delta(state[h*n*n:(h+1)*n*n], q, k, v, keep, beta, op.Scale))
	}
}

// deltaChunk computes chunks of one row. The results of the delta rule do not depend on how rows are split
// into chunks.
func deltaChunk(m *Machine, op *ir.Op) {
	var out [][]float64
	for i := range op.Out {
		out = append(out, m.out(op, i))
	}
	for h := range op.Heads {
		q, k, v, keep, beta := m.in(op, 0, h), m.in(op, 1, h), m.in(op, 2, h), m.in(op, 3, h), m.in(op, 4, h)[0]
		of := formula.DeltaChunk([]formula.DeltaRow[float64]{{Q: q, K: k, V: v, Keep: keep, Beta: beta}}, op.Scale)[0]
		for i, x := range of.Vectors() {
			copy(out[i][h*len(q):], *x)
		}
	}
}

func deltaFold(m *Machine, op *ir.Op) {
	out, state := m.out(op, 0), m.state(op.State)
	for h := range op.Heads {
		var of formula.DeltaChunkRow
		for i, x := range of.Vectors() {
			*x = m.in(op, i, h)
		}
		n := len(of.Seen)
		copy(out[h*n:], formula.DeltaFold(state[h*n*n:(h+1)*n*n], []formula.DeltaChunkRow{of})[0])
	}
}

func gatedNorm(m *Machine, op *ir.Op) {
	out := m.out(op, 0)
	w, _, _ := m.weight(op, 0, 0)
	for h := range op.Heads {
		x, z := m.in(op, 0, h), m.in(op, 1, h)
		for i, v := range formula.Norm(x, w, op.Eps) {
			out[h*len(x)+i] = v * formula.Logistic(z[i])
		}
	}
}

func gateHeads(m *Machine, op *ir.Op) {
	out := m.out(op, 0)
	for h := range op.Heads {
		x, gate := m.in(op, 0, h), formula.Logistic(m.in(op, 1, h)[0])
		formula.AddTo(out[h*len(x):][:len(x)], x, gate)
	}
}
