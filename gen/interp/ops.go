package interp

import (
	"mla/gen/ir"
	"mla/runtime/plan/formula"
)

func embed(m *Machine, op *ir.Op) {
	w, _, cols := m.weight(op, 0, 0)
	formula.AddTo(m.out(op, 0), w[m.token*cols:(m.token+1)*cols], factor(op))
}

// factor returns an op's scale, where 0 means 1.
func factor(op *ir.Op) float64 {
	if op.Scale == 0 {
		return 1
	}
	return op.Scale
}

func rmsNorm(m *Machine, op *ir.Op) {
	w, _, _ := m.weight(op, 0, 0)
	formula.AddTo(m.out(op, 0), formula.Norm(m.in(op, 0, 0), w, op.Eps), factor(op)*m.folded(op))
}

func normPartial(m *Machine, op *ir.Op) {
	w, _, _ := m.weight(op, 0, 0)
	ready, squares := formula.NormPartial(m.in(op, 0, 0), w, op.Group)
	formula.AddTo(m.out(op, 0), ready, m.folded(op))
	copy(m.out(op, 1), squares)
}

func normApply(m *Machine, op *ir.Op) {
	ready, sum := m.in(op, 0, 0), 0.0
	for _, v := range m.in(op, 1, 0) {
		sum += v
	}
	formula.AddTo(m.out(op, 0), ready, formula.NormFactor(sum, len(ready), op.Eps))
}

func matVec(m *Machine, op *ir.Op) {
	out := m.out(op, 0)
	for b := 0; b < op.Batch; b++ {
		w, rows, _ := m.weight(op, 0, b)
		copy(out[b*rows:], formula.Mul(w, m.in(op, 0, b)))
	}
}

func expertsMatVec(m *Machine, op *ir.Op) {
	out := m.out(op, 0)
	routing := m.values[op.In[1].V]
	if op.Grouped() {
		routing = grouped(m, op)
	}
	for i := 0; i < op.K; i++ {
		w, rows, _ := m.weight(op, 0, expertOf(routing, i))
		copy(out[i*rows:], formula.Mul(w, m.in(op, 0, i)))
	}
}

func swiglu(m *Machine, op *ir.Op) {
	copy(m.out(op, 0), formula.SwiGLU(m.in(op, 0, 0), m.in(op, 1, 0), op.Limit))
}

func squaredReLU(m *Machine, op *ir.Op) {
	out := m.out(op, 0)
	for i, x := range m.in(op, 0, 0) {
		out[i] = formula.SquaredReLU(x)
	}
}

func add(m *Machine, op *ir.Op) {
	out := m.out(op, 0)
	copy(out, m.in(op, 0, 0))
	formula.AddTo(out, m.in(op, 1, 0), factor(op))
}

func weightedSum(m *Machine, op *ir.Op) {
	out := m.out(op, 0)
	in, routing := m.in(op, 0, 0), m.values[op.In[1].V]
	for i := 0; i < op.K; i++ {
		formula.AddTo(out, in[i*len(out):][:len(out)], weightOf(routing, i))
	}
}
