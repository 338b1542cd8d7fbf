package cpu

import (
	"mla/runtime/device/linalg"
	"mla/runtime/plan"
)

// headBlock is the most heads of a unit of work. All heads share the rows of the latent cache, so a unit
// computes two matrix products per tile of rows. With more heads, each loaded number is used more often.
const headBlock = 32

// tileRows is the most cache rows of one product. Converted to floats, with their scores, they fit the L1
// cache.
const tileRows = 16

// latentHeads is the queries of a row's heads and the latent cache that they attend to.
type latentHeads struct {
	id            int
	qAbs, qPe     vec
	cache         paged // rows of latDim+peDim
	heads         int
	blocks, block int // blocks of heads, and the heads of all but the last one
	width         int // block rounded up to columns of a product
	latDim, peDim int
	scale         float32
	temperature   plan.Temperature
	tile          int // rows per product
}

// latentHeads binds the fields of p that attention needs for one row and for many.
func (b *binder) latentHeads(p *plan.Attend) latentHeads {
	b.scratch(p.LatDim + p.PeDim)
	t := latentHeads{
		id:     b.id(),
		qAbs:   b.vector(p.QAbs, p.Heads, p.LatDim),
		qPe:    b.vector(p.QPe, p.Heads, p.PeDim),
		cache:  b.cache(p.Cache, p.LatDim+p.PeDim),
		heads:  p.Heads,
		latDim: p.LatDim, peDim: p.PeDim,
		scale: float32(p.Scale), temperature: p.Temperature,
		tile: min(p.Splits.Tile, tileRows),
	}
	if b.err == nil {
		t.blocks = (p.Heads + headBlock - 1) / headBlock
		t.block = (p.Heads + t.blocks - 1) / t.blocks
		t.width = roundUp(t.block, linalg.ProductCols)
		need, tile := &b.r.need, min(t.tile, b.r.context)
		need.query = max(need.query, t.dim()*t.width)
		need.scores = max(need.scores, roundUp(tile*t.width, linalg.VectorStep))
		need.tile = max(need.tile, tile*t.dim())
	}
	return t
}

func (t *latentHeads) dim() int { return t.latDim + t.peDim }

// attend is the CPU kernel of plan.Attend. A unit is a block of heads of a split: unit u is split
// u%splits.Count of block u/splits.Count.
type attend struct {
	latentHeads
	out    vec // [splits.Count][heads][latDim]
	ml     []float32
	splits plan.Splits
}

func bindAttend(b *binder, p *plan.Attend) *attend {
	partials := p.Splits.Count * p.Heads
	t := &attend{
		latentHeads: b.latentHeads(p),
		out:         b.vector(plan.Vec{Slot: p.Out, Stride: p.LatDim}, partials, p.LatDim),
		ml:          b.floats(p.ML, partials*2),
		splits:      p.Splits,
	}
	t.needSums(b)
	return t
}

// size returns a cost of 0, as the cost depends on the position.
func (t *attend) size() (units, cost int) { return t.splits.Count * t.blocks, 0 }

func (t *attend) run(w *worker, lo, hi int) {
	for u := lo; u < hi; u++ {
		first := u / t.splits.Count * t.block
		t.unit(w, u%t.splits.Count, first, min(t.block, t.heads-first))
	}
}

// unit runs heads [first, first+heads) over the rows of one split.
func (t *attend) unit(w *worker, split, first, heads int) {
	n := int(w.row.NKV)
	per := t.splits.Per(n)
	row0 := split*t.heads + first
	ml := t.ml[2*row0 : 2*(row0+heads)]
	t.over(w, first, heads, split*per, min((split+1)*per, n), ml)
	if split*per < n {
		t.divide(w, ml, row0, &t.out)
	}
}

func (t *latentHeads) needSums(b *binder) {
	if b.err == nil {
		b.r.need.sums = max(b.r.need.sums, t.block*t.latDim)
	}
}

// divide divides each head's sums by its l in ml, and writes them to the entries of out from first on.
func (t *latentHeads) divide(w *worker, ml []float32, first int, out *vec) {
	for h := range len(ml) / 2 {
		x := w.sums[h*t.latDim:][:t.latDim]
		linalg.Scale(x, 1/ml[2*h+1])
		out.write((first+h)*out.stride, x)
	}
}

// over runs heads [first, first+heads) over the cache rows [start, end): scores and an online softmax tile by
// tile, as in FlashAttention. It leaves (m, l) of each head in ml, and in the worker's sums, if it has them,
// the sums before the division by l, [heads][latDim].
func (t *latentHeads) over(w *worker, first, heads, start, end int, ml []float32) {
	for h := range heads {
		ml[2*h], ml[2*h+1] = lowest, 0
	}
	if start >= end {
		return
	}
	query := matrix(t.queries(w, first, heads), t.dim(), t.width, t.width)
	out := matrix(w.sums, heads, t.latDim, t.latDim)
	clear(out.Data[:heads*t.latDim])
	for at, rows := start, 0; at < end; at += rows {
		rows = min(t.tile, end-at, plan.PageRows-at%plan.PageRows)
		tile := t.cache.read(w.row.Table, at, rows, w.tile)
		keys, values := matrix(tile, rows, t.dim(), t.dim()), matrix(tile, rows, t.latDim, t.dim())
		scores := matrix(w.scores, rows, t.width, t.width)
		clear(w.scores[:rows*t.width])
		linalg.AddProduct(&scores, &keys, &query)
		softmaxTile(&scores, heads, ml, func(h int, by float32) { linalg.Scale(out.Data[h*out.Row:][:out.Cols], by) })
		weights := linalg.Matrix{Data: scores.Data, Rows: heads, Cols: rows, Row: 1, Col: t.width}
		linalg.AddProduct(&out, &weights, &values)
	}
}

// matrix views a slice as a matrix whose rows begin stride elements apart.
func matrix(x []float32, rows, cols, stride int) linalg.Matrix {
	return linalg.Matrix{Data: x, Rows: rows, Cols: cols, Row: stride, Col: 1}
}

// queries returns the scaled queries [q_abs | q_pe] of a block of heads as the columns of a matrix
// [dim][width]. The columns after the last head are undefined, as their scores are not used. A worker keeps
// the matrix for its next splits of the same heads.
func (t *latentHeads) queries(w *worker, first, heads int) []float32 {
	query := w.query[:t.dim()*t.width]
	k := key{w.token, t.id, first}
	if w.queryKey == k {
		return query
	}
	w.queryKey = k
	scale := float32(float64(t.scale) * t.temperature.At(int(w.row.Pos)))
	q := w.temp(t.dim())
	lat, pe := q[:t.latDim], q[t.latDim:]
	for h := range heads {
		copy(lat, t.qAbs.read((first+h)*t.qAbs.stride, t.latDim, lat))
		copy(pe, t.qPe.read((first+h)*t.qPe.stride, t.peDim, pe))
		for i, f := range q {
			query[i*t.width+h] = f * scale
		}
	}
	return query
}

// softmaxTile turns the scores of a tile, one head per column, into e^(score-m) with the running maximum m of
// each head. It updates (m, l), and calls shrink for heads whose m has risen.
func softmaxTile(scores *linalg.Matrix, heads int, ml []float32, shrink func(h int, by float32)) {
	var highest, sum [headBlock]float32
	m, l := highest[:heads], sum[:heads]
	for h := range m {
		m[h] = ml[2*h]
	}
	for r := range scores.Rows {
		for h, s := range scores.Data[r*scores.Row:][:len(m)] {
			if s > m[h] {
				m[h] = s
			}
		}
	}
	for h := range m {
		if m[h] > ml[2*h] {
			by := linalg.Exp(ml[2*h] - m[h])
			ml[2*h], ml[2*h+1] = m[h], ml[2*h+1]*by
			shrink(h, by)
		}
	}
	for r := range scores.Rows {
		row := scores.Data[r*scores.Row:][:len(m)]
		for h := range row {
			row[h] -= m[h]
		}
	}
	linalg.Exps(scores.Data[:roundUp(scores.Rows*scores.Row, linalg.VectorStep)])
	for r := range scores.Rows {
		row := scores.Data[r*scores.Row:][:len(l)]
		for h := range row {
			l[h] += row[h]
		}
	}
	for h := range l {
		ml[2*h+1] += l[h]
	}
}
