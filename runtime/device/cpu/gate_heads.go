package cpu

import "mla/runtime/plan"

// gateHeads is the CPU kernel of plan.GateHeads. A unit is a head.
type gateHeads struct {
	heads, dim    int
	in, gate, out vec
}

func bindGateHeads(b *binder, p *plan.GateHeads) *gateHeads {
	return &gateHeads{p.Heads, p.Dim, b.vector(p.In, p.Heads, p.Dim), b.vector(p.Gate, p.Heads, 1), b.vector(p.Out, p.Heads, p.Dim)}
}

func (t *gateHeads) size() (units, cost int) { return t.heads, 8 * t.dim }

func (t *gateHeads) run(w *worker, lo, hi int) {
	y := w.temp(t.dim)
	for h := lo; h < hi; h++ {
		gate := headFactor(&t.gate, h)
		for i, x := range t.in.read(h*t.in.stride, t.dim, y) {
			y[i] = gate * x
		}
		t.out.write(h*t.out.stride, y)
	}
}

// headFactor is σ(gate[head]).
func headFactor(gate *vec, head int) float32 {
	var one [1]float32
	return sigmoid(gate.read(head, 1, one[:])[0])
}
