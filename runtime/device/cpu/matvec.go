package cpu

import (
	"mla/runtime/device/linalg"
	"mla/runtime/plan"
)

// projection is W·x, or with a second matrix silu(W·x)*(Up·x).
type projection struct {
	w  weight
	up *weight // nil: none
	// limit is plan.Product's Limit.
	limit float32
}

// projection binds the matrix w, and Up if there is one.
func (b *binder) projection(w int, of *plan.Product, entries int) projection {
	rows, cols, up := of.Rows, of.Cols, of.Up
	p := projection{w: b.matrix(w, entries, rows, cols), limit: float32(of.Limit)}
	if up >= 0 {
		m := b.matrix(up, entries, rows, cols)
		p.up = &m
	}
	return p
}

// bytes is how many bytes of weights one row reads.
func (p *projection) bytes() int {
	if p.up != nil {
		return p.w.rowBytes + p.up.rowBytes
	}
	return p.w.rowBytes
}

// rows computes len(y) ≤ rowBlock rows of an entry, from row r0 on.
func (p *projection) rows(w *worker, entry, r0 int, x input, y []float32) {
	p.w.rows(entry, r0, x, y)
	if p.up != nil {
		up := w.up[:len(y)]
		p.up.rows(entry, r0, x, up)
		w.exps.swiglu(y, up, p.limit)
	}
}

// split is how the threadgroups of a part divide its rows: every entry has groups threadgroups of perGroup
// rows.
type split struct{ rows, perGroup, groups int }

func (b *binder) split(rows, perGroup int) split {
	b.dims(rows, perGroup)
	if b.err != nil {
		return split{}
	}
	return split{rows, perGroup, (rows + perGroup - 1) / perGroup}
}

// each calls f with the row ranges of the threadgroups [lo, hi). A range has at most rowBlock rows of one
// entry.
func (s *split) each(lo, hi int, f func(entry, r0, r1 int)) {
	for lo < hi {
		entry, group := lo/s.groups, lo%s.groups
		n := min(hi-lo, s.groups-group)
		end := min((group+n)*s.perGroup, s.rows)
		for r := group * s.perGroup; r < end; r += rowBlock {
			f(entry, r, min(r+rowBlock, end))
		}
		lo += n
	}
}

// matVec is the CPU kernel of plan.MatVec.
type matVec struct {
	projection
	split
	batch   int
	in      source
	out     vec
	rope    *rope
	relu2   bool
	gate    *vec // HeadGate
	add     *vec
	partial *normPartial
	store   bool // the plain result is wanted
}

func bindMatVec(b *binder, p *plan.MatVec) *matVec {
	t := &matVec{
		projection: b.projection(p.W, &p.Product, p.Batch),
		split:      b.split(p.Rows, p.RowsPerGroup),
		batch:      p.Batch,
		in:         b.source(p.In, p.Batch, p.Cols, p.Norm, p.NormApply, p.Combine),
		partial:    b.normPartial(p.NormPartial, p.Rows),
		store:      p.Out.Slot >= 0 || p.NormPartial == nil,
		rope:       b.rope(p.Rope),
		relu2:      p.SquaredReLU,
		add:        b.add(p.Add, p.Out, p.Batch, p.Rows),
	}
	if t.store {
		t.out = b.vector(p.Out, p.Batch, p.Rows)
	}
	if p.HeadGate != nil {
		gate := b.vector(*p.HeadGate, p.Batch, 1)
		t.gate = &gate
	}
	return t
}

func (t *matVec) size() (units, cost int) {
	return t.batch * t.groups, min(t.perGroup, t.split.rows) * t.bytes()
}

func (t *matVec) run(w *worker, lo, hi int) {
	t.each(lo, hi, func(entry, r0, r1 int) {
		y := w.y[:r1-r0]
		t.projection.rows(w, entry, r0, t.in.load(w, entry), y)
		t.finish(w, entry, r0, y)
	})
}

// squaredReLU is max(0, x)², in place.
func squaredReLU(y []float32) {
	for i, x := range y {
		x = max(x, 0)
		y[i] = x * x
	}
}

// finish applies the epilogue to results y, which begin with row r0 of an entry, and stores them.
func (t *matVec) finish(w *worker, entry, r0 int, y []float32) {
	if t.rope != nil {
		t.rope.apply(y, r0, w.row.Pos)
	}
	if t.relu2 {
		squaredReLU(y)
	}
	if t.gate != nil {
		linalg.Scale(y, headFactor(t.gate, entry))
	}
	if t.add != nil {
		addTo(y, t.add.read(entry*t.add.stride+r0, len(y), w.up[:]))
	}
	if t.store {
		t.out.write(entry*t.out.stride+r0, y)
	}
	if t.partial != nil {
		t.partial.apply(y, r0)
	}
}
