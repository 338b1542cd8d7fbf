package cpu

import "mla/runtime/plan"

// swigluVec is the CPU kernel of plan.SwiGLUVec.
type swigluVec struct {
	split
	gate, up, out vec
	limit         float32
}

func bindSwiGLUVec(b *binder, p *plan.SwiGLUVec) *swigluVec {
	return &swigluVec{b.split(p.Dim, p.RowsPerGroup), b.vector(p.Gate, 1, p.Dim), b.vector(p.Up, 1, p.Dim), b.vector(p.Out, 1, p.Dim), float32(p.Limit)}
}

func (t *swigluVec) size() (units, cost int) { return t.groups, 12 * t.perGroup }

func (t *swigluVec) run(w *worker, lo, hi int) {
	t.each(lo, hi, func(_, r0, r1 int) {
		y := w.y[:r1-r0]
		copy(y, t.gate.read(r0, len(y), y))
		w.exps.swiglu(y, t.up.read(r0, len(y), w.up[:]), t.limit)
		t.out.write(r0, y)
	})
}
