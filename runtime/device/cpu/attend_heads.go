package cpu

import (
	"mla/runtime/device/linalg"
	"mla/runtime/plan"
)

// attendHeads is the CPU kernel of plan.AttendHeads. A unit is one head of headBlock rows. The queries of
// these rows are the columns of its matrix products; in latent attention the heads are.
type attendHeads struct {
	qNope, qPe, out []vec // by row
	heads, blocks   int
	nope, pe, v     int
	scale           float32
	temperature     plan.Temperature
	kv              headPages
}

func bindAttendHeads(b *binder, p *plan.AttendHeads) *attendHeads {
	t := &attendHeads{
		qNope: perRow(b, func() vec { return b.vector(p.QNope, p.Heads, p.NopeDim) }),
		qPe:   perRow(b, func() vec { return b.vector(p.QPe, p.Heads, p.PeDim) }),
		out:   perRow(b, func() vec { return b.vector(p.Out, p.Heads, p.VDim) }),
		heads: p.Heads, blocks: (max(b.command.Kernel.Width, 1) + headBlock - 1) / headBlock,
		nope: p.NopeDim, pe: p.PeDim, v: p.VDim,
		scale: float32(p.Scale), temperature: p.Temperature,
		kv: b.headPages(p.KV),
	}
	if b.err == nil {
		need, dim := &b.r.need, p.NopeDim+p.PeDim
		need.query = max(need.query, dim*headBlock)
		need.scores = max(need.scores, roundUp(plan.PageRows*headBlock, linalg.VectorStep))
		need.tile = max(need.tile, plan.PageRows*max(p.NopeDim, p.VDim, p.PeDim))
		need.sums = max(need.sums, p.VDim*headBlock)
		b.scratch(dim)
	}
	return t
}

func (t *attendHeads) size() (units, cost int) { return t.heads * t.blocks, 0 }

func (t *attendHeads) run(w *worker, lo, hi int) {
	for u := lo; u < hi; u++ {
		head, first := u%t.heads, u/t.heads*headBlock
		for r := first; r < min(first+headBlock, len(w.rows)); {
			n := 1
			for r+n < min(first+headBlock, len(w.rows)) && w.rows[r+n].Table == w.rows[r].Table {
				n++
			}
			t.follow(w, head, r, n)
			r += n
		}
	}
}

// follow attends with one head of n rows that share a block table, page by page.
func (t *attendHeads) follow(w *worker, head, first, n int) {
	rows, width := w.rows[first:first+n], roundUp(n, linalg.ProductCols)
	nkv := 0
	var ml [2 * headBlock]float32
	for i, r := range rows {
		nkv = max(nkv, int(r.NKV))
		ml[2*i] = lowest
	}
	queries := t.queries(w, head, first, n, width)
	qNope, qPe := matrix(queries, t.nope, width, width), matrix(queries[t.nope*width:], t.pe, width, width)
	out := matrix(w.sums, t.v, width, width) // one column for each row
	clear(w.sums[:t.v*width])
	for i := 0; i*plan.PageRows < nkv; i++ {
		at, page := t.kv.at(rows[0].Table, i), t.kv.page
		scores := matrix(w.scores, plan.PageRows, width, width)
		clear(w.scores[:plan.PageRows*width])
		keys := matrix(t.kv.read(at+page.Keys+head*plan.PageRows*t.nope, plan.PageRows*t.nope, w.tile), plan.PageRows, t.nope, t.nope)
		linalg.AddProduct(&scores, &keys, &qNope)
		rotated := matrix(t.kv.read(at+page.Rotated, plan.PageRows*t.pe, w.tile), plan.PageRows, t.pe, t.pe)
		linalg.AddProduct(&scores, &rotated, &qPe)
		hide(&scores, rows, i*plan.PageRows)
		softmaxTile(&scores, n, ml[:], func(row int, by float32) {
			for c := range t.v {
				out.Data[c*width+row] *= by
			}
		})
		values := matrix(t.kv.read(at+page.Values+head*t.v*plan.PageRows, t.v*plan.PageRows, w.tile), t.v, plan.PageRows, plan.PageRows)
		linalg.AddProduct(&out, &values, &scores)
	}
	x := w.temp(t.v)
	for i := range rows {
		for c := range x {
			x[c] = out.Data[c*width+i] / ml[2*i+1]
		}
		o := &t.out[first+i]
		o.write(head*o.stride, x)
	}
}

// hide sets the scores of cache rows after a row's last one to lowest: the causal mask. Every row sees the
// first cache row, so its maximum is a real score.
func hide(scores *linalg.Matrix, rows []plan.Row, at int) {
	for i, r := range rows {
		for k := max(int(r.NKV)-at, 0); k < scores.Rows; k++ {
			scores.Data[k*scores.Row+i] = lowest
		}
	}
}

// queries returns the scaled queries of one head of n rows as the columns of a matrix.
func (t *attendHeads) queries(w *worker, head, first, n, width int) []float32 {
	w.queryKey = key{}
	all := w.query[:(t.nope+t.pe)*width]
	clear(all)
	q := w.temp(t.nope + t.pe)
	nope, pe := q[:t.nope], q[t.nope:]
	for i, row := range w.rows[first : first+n] {
		a, b := &t.qNope[first+i], &t.qPe[first+i]
		copy(nope, a.read(head*a.stride, t.nope, nope))
		copy(pe, b.read(head*b.stride, t.pe, pe))
		scale := float32(float64(t.scale) * t.temperature.At(int(row.Pos)))
		for c, f := range q {
			all[c*width+i] = f * scale
		}
	}
	return all
}
