package cpu

import (
	"fmt"
	"slices"

	"mla/runtime/plan"
)

// groupExperts is the CPU kernel of plan.GroupExperts. It has a single unit: a counting sort of a few
// thousand numbers.
type groupExperts struct {
	rows            [][]plan.Routing
	starts, members []uint32
}

func bindGroupExperts(b *binder, p *plan.GroupExperts) *groupExperts {
	t := &groupExperts{rows: perRow(b, func() []plan.Routing { return b.routing(p.Routing, p.Grouping.K) })}
	t.starts, t.members = b.lists(&p.Grouping)
	b.r.need.selected = max(b.r.need.selected, len(t.members))
	return t
}

func (t *groupExperts) size() (units, cost int) { return 1, 8 * len(t.members) }

func (t *groupExperts) run(w *worker, _, _ int) {
	clear(t.starts)
	// Selections are copied first, so that the counts and the lists agree even if a faulty plan changes the
	// routing meanwhile.
	selected := w.selected[:0]
	for _, routing := range t.rows[:len(w.rows)] {
		for i := range routing {
			selected = append(selected, routing[i].Expert)
		}
	}
	for _, e := range selected {
		if int(e) >= len(t.starts)-1 {
			w.fail(fmt.Errorf("routing names expert %d of %d", e, len(t.starts)-1))
			return
		}
		t.starts[e+1]++ // a count for now
	}
	for e := range t.starts[1:] {
		t.starts[e+1] += t.starts[e]
	}
	for s, e := range selected {
		at := t.starts[e]
		if int(at) >= len(t.members) { // a faulty plan: another part has written this memory
			w.fail(fmt.Errorf("a selection of expert %d comes to place %d of %d", e, at, len(t.members)))
			return
		}
		t.members[at] = uint32(s)
		t.starts[e]++
	}
	copy(t.starts[1:], t.starts) // each entry is again the start of its expert
	t.starts[0] = 0
}

// routeBatch is the CPU kernel of plan.RouteBatch.
type routeBatch struct {
	rows   []*routeVec
	groups *groupExperts
}

func (t *routeBatch) size() (units, cost int) {
	_, cost = t.rows[0].size()
	return 1, cost * len(t.rows)
}

func (t *routeBatch) run(w *worker, _, _ int) {
	for r := range w.rows {
		w.row = w.rows[r]
		t.rows[r].run(w, 0, 1)
	}
	t.groups.run(w, 0, 1)
}

// groupedExperts is the CPU kernel of plan.Experts with a Grouping: entry e of the split is expert e of the
// model.
type groupedExperts struct {
	rows            []*experts
	starts, members []uint32
}

func bindGroupedExperts(b *binder, p *plan.Experts) *groupedExperts {
	t := &groupedExperts{rows: perRow(b, func() *experts { return bindExperts(b, p) })}
	t.starts, t.members = b.lists(p.Grouping)
	return t
}

func (t *groupedExperts) size() (units, cost int) {
	_, cost = t.rows[0].size()
	return (len(t.starts) - 1) * t.rows[0].groups, cost
}

func (t *groupedExperts) run(w *worker, lo, hi int) {
	t.rows[0].each(lo, hi, func(expert, r0, r1 int) {
		first, after := t.starts[expert], t.starts[expert+1]
		if first > after || int(after) > len(t.members) {
			w.fail(fmt.Errorf("expert %d was selected %d to %d of %d times", expert, first, after, len(t.members)))
			return
		}
		if n := int(after - first); n > len(t.rows) {
			w.fail(fmt.Errorf("expert %d was selected %d times by %d rows", expert, n, len(t.rows)))
		} else if n > 0 {
			t.expert(w, expert, append(w.members[:0], t.members[first:after]...), r0, r1)
		}
	})
}

// expert computes rows [r0, r1) of an expert for its selections. members is the worker's copy, so that a
// faulty plan cannot change the selections after they were checked.
func (t *groupedExperts) expert(w *worker, expert int, members []uint32, r0, r1 int) {
	k := t.rows[0].k
	if s := slices.Max(members); int(s)/k >= len(t.rows) {
		w.fail(fmt.Errorf("selection %d of %d rows of %d", s, len(t.rows), k))
		return
	}
	all := &w.batch
	all.begin()
	for _, s := range members {
		all.add(t.rows[int(s)/k].in.load(w, int(s)%k))
	}
	all.prepare(key{w.token, t.rows[0].in.id, expert}, &t.rows[0].projection)
	pieces(r0, r1, func(r0, r1 int) {
		ys := t.rows[0].projection.rowsMany(w, expert, r0, r1-r0)
		for i, s := range members {
			x := t.rows[int(s)/k]
			x.out.write(int(s)%k*x.out.stride+r0, ys[i])
		}
	})
}
