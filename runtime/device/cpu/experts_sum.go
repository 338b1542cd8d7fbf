package cpu

import (
	"mla/runtime/device/linalg"
	"mla/runtime/plan"
)

// expertsSum is the CPU kernel of plan.ExpertsSum. It adds in this order: experts as in the routing, the
// shared experts, the residual.
type expertsSum struct {
	split
	w        weight
	in       source
	routing  []plan.Routing
	shared   *weight // nil: none
	sharedIn source
	add      *vec // nil: none
	out      vec
	partial  *normPartial
}

func bindExpertsSum(b *binder, p *plan.ExpertsSum) *expertsSum {
	n := b.model.Bundle.Model.MoE.NRoutedExperts
	t := &expertsSum{
		split:   b.split(p.Rows, p.RowsPerGroup),
		w:       b.matrix(p.W, n, p.Rows, p.Cols),
		in:      b.source(p.In, p.K, p.Cols, nil, nil, nil),
		routing: b.routing(p.Routing, p.K),
		out:     b.vector(p.Out, 1, p.Rows),
		add:     b.add(p.Add, p.Out, 1, p.Rows),
		partial: b.normPartial(p.NormPartial, p.Rows),
	}
	if p.Shared >= 0 {
		m := b.matrix(p.Shared, 1, p.Rows, p.SharedCols)
		t.shared = &m
		t.sharedIn = b.source(p.SharedIn, 1, p.SharedCols, nil, nil, nil)
	}
	return t
}

func (t *expertsSum) size() (units, cost int) {
	row := len(t.routing) * t.w.rowBytes
	if t.shared != nil {
		row += t.shared.rowBytes
	}
	return t.groups, min(t.perGroup, t.split.rows) * row
}

func (t *expertsSum) run(w *worker, lo, hi int) {
	t.each(lo, hi, func(_, r0, r1 int) {
		y, part := w.y[:r1-r0], w.up[:r1-r0]
		clear(y)
		for i, r := range t.routing {
			e, ok := t.w.expert(w, r)
			if !ok {
				return
			}
			t.w.rows(e, r0, t.in.load(w, i), part)
			linalg.Axpy(y, r.Weight, part)
		}
		if t.shared != nil {
			t.shared.rows(0, r0, t.sharedIn.load(w, 0), part)
			addTo(y, part)
		}
		if t.add != nil {
			addTo(y, t.add.read(r0, len(y), part))
		}
		t.out.write(r0, y)
		if t.partial != nil {
			t.partial.apply(y, r0)
		}
	})
}
