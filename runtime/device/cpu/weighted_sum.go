package cpu

import (
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// weightedSum is the twin of plan.WeightedSum.
type weightedSum struct {
	split
	in, out vec
	routing []plan.Routing
}

func bindWeightedSum(b *binder, p *plan.WeightedSum) *weightedSum {
	return &weightedSum{b.split(p.Dim, p.RowsPerGroup), b.input(p.In, p.K, p.Dim), b.output(p.Out, 1, p.Dim), b.routing(p.Routing, p.K, false)}
}

func (t *weightedSum) size() (units, cost int) {
	return t.groups, 4 * (len(t.routing) + 1) * t.perGroup
}

func (t *weightedSum) run(w *worker, lo, hi int) {
	t.each(lo, hi, func(_, r0, r1 int) {
		y := w.y[:r1-r0]
		clear(y)
		for i, e := range t.routing {
			quant.Axpy(y, e.Weight, t.in.read(i*t.in.stride+r0, len(y), w.up[:]))
		}
		t.out.write(r0, y)
	})
}
