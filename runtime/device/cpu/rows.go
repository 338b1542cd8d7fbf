package cpu

import (
	"mla/runtime/device/linalg"
	"mla/runtime/plan"
)

// Kernels of several rows. Every part is bound once for each row, to that row's vectors. Mat-vecs read their
// weights once for all live rows, a block of weight rows at a time. The other parts compute one row after the
// other.

// bindRows returns the CPU kernel of a part in a kernel of several rows.
func (b *binder) bindRows(p plan.Part) kernel {
	switch p := p.(type) {
	case *plan.MatVec:
		if p.Tokens > 0 {
			return &matVecs{perRow(b, func() *matVec { return bindMatVec(b, p) })}
		}
	case *plan.Experts:
		if p.Grouping != nil {
			return bindGroupedExperts(b, p)
		}
	case *plan.RouteBatch:
		return &routeBatch{
			rows:   perRow(b, func() *routeVec { return bindRouteVec(b, &plan.RouteVec{Gating: p.Gating, Routing: p.Routing}) }),
			groups: bindGroupExperts(b, &plan.GroupExperts{Routing: p.Routing, Grouping: p.Grouping}),
		}
	case *plan.GatherVec:
		return bindGather(b, p)
	case *plan.GroupExperts:
		return bindGroupExperts(b, p)
	case *plan.ExpandHeads:
		return bindExpandHeads(b, p)
	case *plan.AttendHeads:
		return bindAttendHeads(b, p)
	case *plan.DeltaHeads:
		return bindDeltaHeads(b, p)
	case *plan.DeltaVectors:
		return bindDeltaVectors(b, p)
	case *plan.DeltaColumns:
		return bindDeltaColumns(b, p)
	case *plan.DeltaChunks:
		return bindDeltaChunks(b, p)
	case *plan.DeltaFold:
		return bindDeltaFold(b, p)
	}
	return &eachRow{perRow(b, func() kernel { return b.bind(p) })}
}

// perRow calls bind once for every row of the kernel; once if the kernel has a single row.
func perRow[T any](b *binder, bind func() T) []T {
	var list []T
	for b.row = 0; b.row < max(b.command.Kernel.Width, 1) && b.err == nil; b.row++ {
		list = append(list, bind())
	}
	b.row = 0
	return list
}

// eachRow runs a kernel for each row: its units are those of the first row, then those of the second, ….
type eachRow struct{ kernels []kernel }

func (t *eachRow) size() (units, cost int) {
	units, cost = t.kernels[0].size()
	return len(t.kernels) * units, cost
}

func (t *eachRow) run(w *worker, lo, hi int) {
	units, _ := t.kernels[0].size()
	for r := lo / units; r < len(w.rows) && r*units < hi; r++ {
		w.row = w.rows[r]
		t.kernels[r].run(w, max(lo-r*units, 0), min(hi-r*units, units))
	}
}

// rowBlockMany is how many rows of weights are multiplied by all inputs before the next rows. It is even, for
// the same reason as rowBlock.
const rowBlockMany = linalg.PanelRows

// batch is a worker's buffers for the inputs and results of several rows.
type batch struct {
	xs, ys, ups [][]float32
	inputs      []input
	results     []float32        // [inputs][2][rowBlockMany]
	in          [2]linalg.Inputs // the arranged inputs for W and for Up of a projection
	key         key              // identifies the inputs in in
	set         int              // the number of inputs in in
}

func newBatch(rows int) batch {
	return batch{
		xs: make([][]float32, 0, rows), ys: make([][]float32, rows), ups: make([][]float32, rows),
		inputs: make([]input, 0, rows), results: floats(2 * rows * rowBlockMany),
	}
}

// begin removes all inputs.
func (t *batch) begin() { t.xs, t.inputs = t.xs[:0], t.inputs[:0] }

// add appends the input of a row.
func (t *batch) add(in input) {
	t.xs, t.inputs = append(t.xs, in.x), append(t.inputs, in)
}

// prepare arranges all inputs, which k identifies, for the products of a projection. If in already has these
// inputs, it does nothing. The number of inputs is compared, too, as a faulty plan can change it without
// changing k.
func (t *batch) prepare(k key, p *projection) {
	if len(t.inputs) == 0 || t.inputs[0].halves || t.key == k && t.set == len(t.xs) {
		return
	}
	t.key, t.set = k, len(t.xs)
	t.in[0].Set(p.w.format, t.xs)
	if p.up != nil {
		t.in[1].Set(p.up.format, t.xs)
	}
}

// buffers returns slices for the results of n weight rows for each input, for W and for Up.
func (t *batch) buffers(n int) (ys, ups [][]float32) {
	ys, ups = t.ys[:len(t.xs)], t.ups[:len(t.xs)]
	for i := range ys {
		at := 2 * i * rowBlockMany
		ys[i], ups[i] = t.results[at:at+n], t.results[at+rowBlockMany:][:n]
	}
	return ys, ups
}

// rowsMany computes n rows of an entry, from r0 on, for all prepared inputs.
func (p *projection) rowsMany(w *worker, entry, r0, n int) [][]float32 {
	t := &w.batch
	ys, ups := t.buffers(n)
	p.w.rowsMany(entry, r0, t, &t.in[0], ys)
	if p.up != nil {
		p.up.rowsMany(entry, r0, t, &t.in[1], ups)
		for i := range ys {
			w.exps.swiglu(ys[i], ups[i], p.limit)
		}
	}
	return ys
}

// rowsMany computes what rows does, for several inputs of the same type.
func (m *weight) rowsMany(entry, r0 int, t *batch, in *linalg.Inputs, ys [][]float32) {
	w := m.data[entry*m.stride+r0*m.rowBytes:]
	if len(t.inputs) == 0 {
		return
	}
	if t.inputs[0].halves {
		linalg.RowsHalvesMany(m.format, w, m.rowBytes, t.xs, ys)
	} else {
		linalg.Product(m.format, w, m.rowBytes, in, ys)
	}
	for i, in := range t.inputs {
		if in.factor != 1 {
			linalg.Scale(ys[i], in.factor)
		}
	}
}

// pieces calls f for consecutive parts of [r0, r1) of at most rowBlockMany rows.
func pieces(r0, r1 int, f func(r0, r1 int)) {
	for ; r0 < r1; r0 += rowBlockMany {
		f(r0, min(r0+rowBlockMany, r1))
	}
}

// matVecs is the CPU kernel of a plan.MatVec that batches rows.
type matVecs struct{ rows []*matVec }

func (t *matVecs) size() (units, cost int) {
	units, cost = t.rows[0].size()
	return units, cost
}

func (t *matVecs) run(w *worker, lo, hi int) {
	t.rows[0].each(lo, hi, func(entry, r0, r1 int) {
		p, all := &t.rows[0].projection, &w.batch
		all.begin()
		for i := range w.rows {
			all.add(t.rows[i].in.load(w, entry))
		}
		all.prepare(key{w.token, t.rows[0].in.id, entry}, p)
		pieces(r0, r1, func(r0, r1 int) {
			ys := p.rowsMany(w, entry, r0, r1-r0)
			for i := range w.rows {
				w.row = w.rows[i]
				t.rows[i].finish(w, entry, r0, ys[i])
			}
		})
	})
}
