package cpu

import "mla/runtime/plan"

// addTo adds x to y, element by element.
func addTo(y, x []float32) {
	x = x[:len(y)]
	for i, v := range x {
		y[i] += v
	}
}

// addVec is the CPU kernel of plan.AddVec.
type addVec struct {
	split
	a, b, out vec
}

func bindAddVec(b *binder, p *plan.AddVec) *addVec {
	return &addVec{b.split(p.Dim, p.RowsPerGroup), b.vector(p.A, 1, p.Dim), b.vector(p.B, 1, p.Dim), b.vector(p.Out, 1, p.Dim)}
}

func (t *addVec) size() (units, cost int) { return t.groups, 12 * t.perGroup }

func (t *addVec) run(w *worker, lo, hi int) {
	t.each(lo, hi, func(_, r0, r1 int) {
		y := w.y[:r1-r0]
		copy(y, t.a.read(r0, len(y), y))
		addTo(y, t.b.read(r0, len(y), w.up[:]))
		t.out.write(r0, y)
	})
}
