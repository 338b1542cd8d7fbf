package interp

import (
	"math"

	"mla/gen/ir"
)

// state is what a session keeps of a value between tokens; it begins with zeros.
func (m *Machine) state(v *ir.Value) []float64 {
	if m.states[v] == nil {
		m.states[v] = make([]float64, v.Len)
	}
	return m.states[v]
}

// convolve keeps of each channel the inputs of the last tokens, oldest first: [channel][taps-1].
func convolve(m *Machine, op *ir.Op) {
	x, out, window := m.in(op, 0, 0), m.out(op, 0), m.state(op.State)
	w, _, taps := m.weight(op, 0, 0)
	for c, v := range x {
		past := window[c*(taps-1) : (c+1)*(taps-1)]
		for s, u := range past {
			out[c] += float64(w[c*taps+s]) * u
		}
		out[c] += float64(w[c*taps+taps-1]) * v
		copy(past, past[1:])
		past[taps-2] = v
	}
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func silu(m *Machine, op *ir.Op) {
	out := m.out(op, 0)
	for i, x := range m.in(op, 0, 0) {
		out[i] = x * logistic(x)
	}
}

func sigmoid(m *Machine, op *ir.Op) {
	out := m.out(op, 0)
	for i, x := range m.in(op, 0, 0) {
		out[i] = logistic(x)
	}
}

func l2Norm(m *Machine, op *ir.Op) {
	out := m.out(op, 0)
	for h := range op.Heads {
		x := m.in(op, 0, h)
		for i, v := range x {
			out[h*len(x)+i] = v / math.Sqrt(dot(x, x)+op.Eps)
		}
	}
}

// softplus is ln(1 + exp(x)), which is x where exp(x) leaves no digit of the 1.
func softplus(x float64) float64 {
	if x > 20 {
		return x
	}
	return math.Log1p(math.Exp(x))
}

func softplusDecay(m *Machine, op *ir.Op) {
	decay(m, op, func(a, x float64) float64 { return a * softplus(x) })
}

func boundedDecay(m *Machine, op *ir.Op) {
	decay(m, op, func(a, x float64) float64 { return op.Limit * logistic(a*x) })
}

func decay(m *Machine, op *ir.Op, law func(a, x float64) float64) {
	out := m.out(op, 0)
	a, _, _ := m.weight(op, 0, 0)
	bias, _, _ := m.weight(op, 1, 0)
	for h := range op.Heads {
		x := m.in(op, 0, h)
		for i, v := range x {
			at := h*len(x) + i
			out[at] = math.Exp(law(float64(a[h]), v+float64(bias[at])))
		}
	}
}

// deltaRule keeps a matrix of each head: [head][key][value].
func deltaRule(m *Machine, op *ir.Op) {
	out, state := m.out(op, 0), m.state(op.State)
	for h := range op.Heads {
		q, k, v, keep, beta := m.in(op, 0, h), m.in(op, 1, h), m.in(op, 2, h), m.in(op, 3, h), m.in(op, 4, h)[0]
		n := len(q)
		s := state[h*n*n : (h+1)*n*n]
		known := make([]float64, n) // Sᵀ k of the state that has decayed
		for i := range n {
			for j := range n {
				s[i*n+j] *= keep[i]
				known[j] += s[i*n+j] * k[i]
			}
		}
		o := out[h*n : (h+1)*n]
		for i := range n {
			for j := range n {
				s[i*n+j] += k[i] * beta * (v[j] - known[j])
				o[j] += op.Scale * s[i*n+j] * q[i]
			}
		}
	}
}

func gatedNorm(m *Machine, op *ir.Op) {
	out := m.out(op, 0)
	w, _, _ := m.weight(op, 0, 0)
	for h := range op.Heads {
		x, z := m.in(op, 0, h), m.in(op, 1, h)
		scale := 1 / math.Sqrt(dot(x, x)/float64(len(x))+op.Eps)
		for i, v := range x {
			out[h*len(x)+i] = v * scale * float64(w[i]) * logistic(z[i])
		}
	}
}

func gateHeads(m *Machine, op *ir.Op) {
	out := m.out(op, 0)
	for h := range op.Heads {
		x, gate := m.in(op, 0, h), logistic(m.in(op, 1, h)[0])
		for i, v := range x {
			out[h*len(x)+i] = v * gate
		}
	}
}
