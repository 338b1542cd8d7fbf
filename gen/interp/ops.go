package interp

import (
	"math"

	"mla/gen/ir"
)

func embed(m *Machine, op *ir.Op) {
	w, _, cols := m.weight(op, 0, 0)
	out := m.out(op, 0)
	toFloat64(out, w[m.token*cols:(m.token+1)*cols])
	for i := range out {
		out[i] *= factor(op)
	}
}

// factor is an op's scale, where 0 means 1.
func factor(op *ir.Op) float64 {
	if op.Scale == 0 {
		return 1
	}
	return op.Scale
}

func rmsNorm(m *Machine, op *ir.Op) {
	x, out := m.in(op, 0, 0), m.out(op, 0)
	w, _, _ := m.weight(op, 0, 0)
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	scale := 1 / math.Sqrt(sum/float64(len(x))+op.Eps)
	for i, v := range x {
		out[i] = v * scale * float64(w[i]) * factor(op) * m.folded(op)
	}
}

func normPartial(m *Machine, op *ir.Op) {
	x, ready, squares := m.in(op, 0, 0), m.out(op, 0), m.out(op, 1)
	w, _, _ := m.weight(op, 0, 0)
	for i, v := range x {
		ready[i] = v * float64(w[i]) * m.folded(op)
		squares[i/op.Group] += v * v
	}
}

func normApply(m *Machine, op *ir.Op) {
	ready, squares, out := m.in(op, 0, 0), m.in(op, 1, 0), m.out(op, 0)
	sum := 0.0
	for _, v := range squares {
		sum += v
	}
	for i, v := range ready {
		out[i] = v / math.Sqrt(sum/float64(len(ready))+op.Eps)
	}
}

func matVec(m *Machine, op *ir.Op) {
	out := m.out(op, 0)
	for b := 0; b < op.Batch; b++ {
		w, rows, cols := m.weight(op, 0, b)
		multiply(out[b*rows:(b+1)*rows], w, m.in(op, 0, b), cols)
	}
}

func expertsMatVec(m *Machine, op *ir.Op) {
	out := m.out(op, 0)
	routing := m.values[op.In[1].V]
	if op.Grouped() {
		routing = grouped(m, op)
	}
	for i := 0; i < op.K; i++ {
		w, rows, cols := m.weight(op, 0, expertOf(routing, i))
		multiply(out[i*rows:(i+1)*rows], w, m.in(op, 0, i), cols)
	}
}

func multiply(out []float64, w []float32, x []float64, cols int) {
	for r := range out {
		sum := 0.0
		for c, v := range w[r*cols : (r+1)*cols] {
			sum += float64(v) * x[c]
		}
		out[r] = sum
	}
}

func swiglu(m *Machine, op *ir.Op) {
	out := m.out(op, 0)
	gate, up := m.in(op, 0, 0), m.in(op, 1, 0)
	for i, g := range gate {
		act, u := g/(1+math.Exp(-g)), up[i]
		if op.Limit > 0 {
			act, u = math.Min(act, op.Limit), math.Max(-op.Limit, math.Min(u, op.Limit))
		}
		out[i] = act * u
	}
}

func squaredReLU(m *Machine, op *ir.Op) {
	out := m.out(op, 0)
	for i, x := range m.in(op, 0, 0) {
		out[i] = math.Max(0, x) * math.Max(0, x)
	}
}

func add(m *Machine, op *ir.Op) {
	out := m.out(op, 0)
	a, b := m.in(op, 0, 0), m.in(op, 1, 0)
	for i := range out {
		out[i] = a[i] + factor(op)*b[i]
	}
}

func weightedSum(m *Machine, op *ir.Op) {
	out := m.out(op, 0)
	in, routing := m.in(op, 0, 0), m.values[op.In[1].V]
	for i := 0; i < op.K; i++ {
		for j := range out {
			out[j] += weightOf(routing, i) * in[i*len(out)+j]
		}
	}
}

func toFloat64(dst []float64, src []float32) {
	for i, v := range src {
		dst[i] = float64(v)
	}
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}
