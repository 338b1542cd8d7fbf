package cpu

import (
	"mla/runtime/device/linalg"
	"mla/runtime/plan"
)

// weightedSum is the CPU kernel of plan.WeightedSum.
type weightedSum struct {
	split
	in, out vec
	routing []plan.Routing
	add     []*vec
	partial *normPartial
	store   bool // the plain result is wanted
}

func bindWeightedSum(b *binder, p *plan.WeightedSum) *weightedSum {
	t := &weightedSum{split: b.split(p.Dim, p.RowsPerGroup), in: b.vector(p.In, p.K, p.Dim), routing: b.routing(p.Routing, p.K),
		partial: b.normPartial(p.NormPartial, p.Dim), store: p.Out.Slot >= 0 || p.NormPartial == nil}
	for _, slot := range p.Add {
		t.add = append(t.add, b.add(slot, p.Out, 1, p.Dim))
	}
	if t.store {
		t.out = b.vector(p.Out, 1, p.Dim)
	}
	return t
}

func (t *weightedSum) size() (units, cost int) {
	return t.groups, 4 * (len(t.routing) + len(t.add) + 1) * t.perGroup
}

func (t *weightedSum) run(w *worker, lo, hi int) {
	t.each(lo, hi, func(_, r0, r1 int) {
		y := w.y[:r1-r0]
		clear(y)
		for i, e := range t.routing {
			linalg.Axpy(y, e.Weight, t.in.read(i*t.in.stride+r0, len(y), w.up[:]))
		}
		for _, v := range t.add {
			addTo(y, v.read(r0, len(y), w.up[:]))
		}
		if t.store {
			t.out.write(r0, y)
		}
		if t.partial != nil {
			t.partial.apply(y, r0)
		}
	})
}
