package cpu

import (
	"fmt"

	"mla/runtime/plan"
)

// experts is the CPU kernel of plan.Experts.
type experts struct {
	projection
	split
	k       int
	in      source
	out     vec
	gating  *gating        // nil: routing holds the selection
	routing []plan.Routing // nil: a grouping lists the selections
}

func bindExperts(b *binder, p *plan.Experts) *experts {
	n := b.model.Bundle.Model.MoE.NRoutedExperts
	t := &experts{
		projection: b.projection(p.W, &p.Product, n),
		split:      b.split(p.Rows, p.RowsPerGroup),
		k:          p.K,
		in:         b.source(p.In, p.K, p.Cols, p.Norm, p.NormApply, nil),
		out:        b.vector(p.Out, p.K, p.Rows),
	}
	if p.Grouping == nil {
		t.routing = b.routing(p.Routing, p.K)
	}
	if p.Gating != nil {
		t.gating = b.gating(p.Gating)
	}
	return t
}

func (t *experts) size() (units, cost int) {
	return t.k * t.groups, min(t.perGroup, t.split.rows) * t.bytes()
}

func (t *experts) run(w *worker, lo, hi int) {
	routing := t.routing
	if t.gating != nil {
		routing = t.gating.choose(w)
		if lo == 0 {
			copy(t.routing, routing)
		}
	}
	t.each(lo, hi, func(i, r0, r1 int) {
		e, ok := t.w.expert(w, routing[i])
		if !ok {
			return
		}
		y := w.y[:r1-r0]
		t.projection.rows(w, e, r0, t.in.load(w, i), y)
		t.out.write(i*t.out.stride+r0, y)
	})
}

// expert returns the matrix of the expert that a routing names. It checks the number: in a faulty plan,
// another part may have overwritten the routing.
func (m *weight) expert(w *worker, r plan.Routing) (int, bool) {
	if uint64(r.Expert) < uint64(m.batch) {
		return int(r.Expert), true
	}
	w.fail(fmt.Errorf("routing names expert %d of %d", r.Expert, m.batch))
	return 0, false
}
