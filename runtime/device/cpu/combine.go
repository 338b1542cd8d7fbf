package cpu

import (
	"mla/runtime/device/linalg"
	"mla/runtime/plan"
)

// combine merges the attention splits of a head; see plan.Combine.
type combine struct {
	out    vec       // [splits.Count][heads][dim]
	ml     []float32 // [splits.Count][heads][2]
	splits plan.Splits
	heads  int
	dim    int
}

// combine binds the splits of heads with dim columns.
func (b *binder) combine(p *plan.Combine, dim int) *combine {
	rows := p.Splits.Count * p.Heads
	if b.err == nil {
		b.r.need.sums = max(b.r.need.sums, dim)
	}
	return &combine{
		out:    b.vector(plan.Vec{Slot: p.Out, Stride: dim}, rows, dim),
		ml:     b.floats(p.ML, rows*2),
		splits: p.Splits,
		heads:  p.Heads,
		dim:    dim,
	}
}

// run writes the combined latent vector of a head to dst: o = Σ e^(m_s-m) l_s o_s / Σ e^(m_s-m) l_s over the
// splits that are not empty.
func (c *combine) run(w *worker, head int, dst []float32) {
	n := int(w.row.NKV)
	used := c.splits.Used(n)
	m := float32(lowest)
	for s := range used {
		m = max(m, c.ml[2*(s*c.heads+head)])
	}
	var l float32
	clear(dst)
	for s := range used {
		row := s*c.heads + head
		weight := linalg.Exp(c.ml[2*row]-m) * c.ml[2*row+1]
		l += weight
		linalg.Axpy(dst, weight, c.out.read(row*c.dim, c.dim, w.sums))
	}
	linalg.Scale(dst, 1/l)
}

// combineVec is the CPU kernel of plan.CombineVec.
type combineVec struct {
	combine *combine
	out     vec
}

func bindCombineVec(b *binder, p *plan.CombineVec) *combineVec {
	t := &combineVec{b.combine(&p.Combine, p.Dim), b.vector(p.Out, p.Combine.Heads, p.Dim)}
	b.scratch(p.Dim)
	return t
}

func (t *combineVec) size() (units, cost int) {
	return t.combine.heads, 4 * t.combine.splits.Count * t.combine.dim
}

func (t *combineVec) run(w *worker, lo, hi int) {
	x := w.temp(t.combine.dim)
	for h := lo; h < hi; h++ {
		t.combine.run(w, h, x)
		t.out.write(h*t.out.stride, x)
	}
}
