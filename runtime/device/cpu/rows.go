package cpu

import (
	"fmt"
	"slices"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// Kernels of several rows. Every part is bound once for each row, to the vectors of that
// row. Mat-vecs go through their weights once for all rows that live, a few weights' rows
// at a time; the other parts do one row after the other.

// bindRows makes the twin of a part of a kernel of several rows.
func (b *binder) bindRows(p plan.Part) twin {
	switch p := p.(type) {
	case *plan.MatVec:
		return &matVecs{perRow(b, func() *matVec { return bindMatVec(b, p) })}
	case *plan.Experts:
		if p.Grouping == nil {
			b.fail("experts of several rows without groups")
			return nil
		}
		return bindGroupedExperts(b, p)
	case *plan.RouteVec:
		if p.Grouping == nil {
			b.fail("routing of several rows without groups")
			return nil
		}
		return bindRouteAll(b, p)
	}
	return &eachRow{perRow(b, func() twin { return b.bind(p) })}
}

// perRow binds once for every row.
func perRow[T any](b *binder, bind func() T) []T {
	var list []T
	for b.row = 0; b.row < b.kernel.Width && b.err == nil; b.row++ {
		list = append(list, bind())
	}
	b.row = 0
	return list
}

// eachRow has the units of one row for every row.
type eachRow struct{ twins []twin }

func (t *eachRow) size() (units, cost int) {
	units, cost = t.twins[0].size()
	return len(t.twins) * units, cost
}

func (t *eachRow) run(w *worker, lo, hi int) {
	units, _ := t.twins[0].size()
	for r := lo / units; r < len(w.rows) && r*units < hi; r++ {
		w.row = w.rows[r]
		t.twins[r].run(w, max(lo-r*units, 0), min(hi-r*units, units))
	}
}

// togetherBlock is how many rows of weights are multiplied by all inputs before the next:
// they and their results stay in the cache nearest to a core. It is even, as rowBlock is.
const togetherBlock = 32

// together is a worker's room for the inputs and results of several rows.
type together struct {
	xs, ys, ups [][]float32
	inputs      []input
	results     []float32 // [rows][2][togetherBlock]
}

func newTogether(rows int) together {
	return together{
		xs: make([][]float32, 0, rows), ys: make([][]float32, 0, rows), ups: make([][]float32, 0, rows),
		inputs: make([]input, 0, rows), results: make([]float32, 2*rows*togetherBlock),
	}
}

// begin forgets all rows.
func (t *together) begin() {
	t.xs, t.ys, t.ups, t.inputs = t.xs[:0], t.ys[:0], t.ups[:0], t.inputs[:0]
}

// add takes up a row's input, for n results.
func (t *together) add(in input, n int) {
	at := 2 * len(t.xs) * togetherBlock
	t.xs, t.inputs = append(t.xs, in.x), append(t.inputs, in)
	t.ys = append(t.ys, t.results[at:at+n])
	t.ups = append(t.ups, t.results[at+togetherBlock:][:n])
}

// rowsMany computes rows from r0 on of an entry for all inputs that were added.
func (p *projection) rowsMany(t *together, entry, r0 int) {
	p.w.rowsMany(entry, r0, t, t.ys)
	if p.up != nil {
		p.up.rowsMany(entry, r0, t, t.ups)
		for i := range t.ys {
			swiglu(t.ys[i], t.ups[i])
		}
	}
}

// rowsMany is rows for several inputs, which have one type.
func (m *weight) rowsMany(entry, r0 int, t *together, ys [][]float32) {
	w := m.data[entry*m.stride+r0*m.rowBytes:]
	if t.inputs[0].halves {
		m.format.RowsHalvesMany(w, m.rowBytes, t.xs, ys)
	} else {
		m.format.RowsMany(w, m.rowBytes, t.xs, ys)
	}
	for i, in := range t.inputs {
		if in.factor != 1 {
			quant.Scale(ys[i], in.factor)
		}
	}
}

// pieces calls f for parts of [r0, r1) of at most togetherBlock rows.
func pieces(r0, r1 int, f func(r0, r1 int)) {
	for ; r0 < r1; r0 += togetherBlock {
		f(r0, min(r0+togetherBlock, r1))
	}
}

// matVecs is the twin of plan.MatVec of several rows.
type matVecs struct{ rows []*matVec }

func (t *matVecs) size() (units, cost int) {
	units, cost = t.rows[0].size()
	return units, cost
}

func (t *matVecs) run(w *worker, lo, hi int) {
	t.rows[0].each(lo, hi, func(entry, r0, r1 int) {
		pieces(r0, r1, func(r0, r1 int) {
			all := &w.together
			all.begin()
			for i := range w.rows {
				all.add(t.rows[i].in.load(w, entry), r1-r0)
			}
			t.rows[0].projection.rowsMany(all, entry, r0)
			for i := range w.rows {
				w.row = w.rows[i]
				t.rows[i].finish(w, entry, r0, all.ys[i])
			}
		})
	})
}

// groupedExperts is the twin of plan.Experts of several rows: entry e of the split is the
// e-th expert that some row has selected.
type groupedExperts struct {
	rows            []*experts
	starts, members []uint32
}

func bindGroupedExperts(b *binder, p *plan.Experts) *groupedExperts {
	t := &groupedExperts{rows: perRow(b, func() *experts { return bindExperts(b, p) })}
	t.starts, t.members = b.lists(p.Grouping, false)
	return t
}

func (t *groupedExperts) size() (units, cost int) {
	_, cost = t.rows[0].size()
	return (len(t.starts) - 1) * t.rows[0].groups, cost
}

func (t *groupedExperts) run(w *worker, lo, hi int) {
	t.rows[0].each(lo, hi, func(entry, r0, r1 int) {
		first, behind := t.starts[entry], t.starts[entry+1]
		if first > behind || int(behind) > len(t.members) {
			w.fail(fmt.Errorf("expert %d was selected %d to %d of %d times", entry, first, behind, len(t.members)))
			return
		}
		if members := t.members[first:behind]; len(members) > 0 {
			t.expert(w, members, r0, r1)
		}
	})
}

// expert computes rows [r0, r1) of the expert of some selections.
func (t *groupedExperts) expert(w *worker, members []uint32, r0, r1 int) {
	k := t.rows[0].k
	if s := slices.Max(members); int(s)/k >= len(t.rows) || len(members) > len(t.rows) {
		w.fail(fmt.Errorf("selection %d, one of %d, of %d rows of %d", s, len(members), len(t.rows), k))
		return
	}
	first := t.rows[int(members[0])/k]
	e, ok := first.w.expert(w, first.routing[int(members[0])%k])
	if !ok {
		return
	}
	pieces(r0, r1, func(r0, r1 int) {
		all := &w.together
		all.begin()
		for _, s := range members {
			all.add(t.rows[int(s)/k].in.load(w, int(s)%k), r1-r0)
		}
		first.projection.rowsMany(all, e, r0)
		for i, s := range members {
			x := t.rows[int(s)/k]
			x.out.write(int(s)%k*x.out.stride+r0, all.ys[i])
		}
	})
}

// routeAll is the twin of plan.RouteVec of several rows.
type routeAll struct {
	rows            []*routeVec
	starts, members []uint32
}

func bindRouteAll(b *binder, p *plan.RouteVec) *routeAll {
	t := &routeAll{rows: perRow(b, func() *routeVec { return bindRouteVec(b, p) })}
	t.starts, t.members = b.lists(p.Grouping, true)
	return t
}

func (t *routeAll) size() (units, cost int) {
	_, cost = t.rows[0].size()
	return 1, cost * len(t.rows)
}

func (t *routeAll) run(w *worker, _, _ int) {
	k := t.rows[0].gating.K
	n := len(w.rows) * k
	members := t.members[:n]
	for r := range w.rows {
		w.row = w.rows[r]
		t.rows[r].run(w, 0, 1)
		for i := range k {
			members[r*k+i] = uint32(r*k + i)
		}
	}
	expert := func(s uint32) uint32 { return t.rows[int(s)/k].routing[int(s)%k].Expert }
	slices.SortStableFunc(members, func(a, b uint32) int { return int(expert(a)) - int(expert(b)) })
	e := 0
	for i, s := range members {
		if i == 0 || expert(s) != expert(members[i-1]) {
			t.starts[e] = uint32(i)
			e++
		}
	}
	for ; e < len(t.starts); e++ {
		t.starts[e] = uint32(n)
	}
}
