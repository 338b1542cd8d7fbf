package cpu

import (
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// headBlock is how many heads a unit of work serves: their queries and outputs
// stay in the first-level cache while the rows of the latent cache pass by, and
// a short context still feeds several cores.
const headBlock = 8

// attend is the twin of plan.Attend. A unit is one block of heads of one split:
// unit u serves block u%blocks of split u/blocks.
type attend struct {
	qAbs, qPe     vec
	cache         numbers // [context][latDim+peDim]
	out, ml       []float32
	heads, blocks int
	latDim, peDim int
	scale         float32
	splits        plan.Splits
	f32           *quant.Format
}

func bindAttend(b *binder, p *plan.Attend) *attend {
	b.dims(p.LatDim, p.PeDim)
	partials := b.splits(p.Splits, p.Heads)
	t := &attend{
		qAbs:   b.input(p.QAbs, p.Heads, p.LatDim),
		qPe:    b.input(p.QPe, p.Heads, p.PeDim),
		cache:  b.cache(p.Cache, p.LatDim+p.PeDim, false),
		out:    b.writableFloats(p.Out, partials*p.LatDim),
		ml:     b.writableFloats(p.ML, partials*2),
		heads:  p.Heads,
		blocks: (p.Heads + headBlock - 1) / headBlock,
		latDim: p.LatDim, peDim: p.PeDim,
		scale:  float32(p.Scale),
		splits: p.Splits,
	}
	t.f32, _ = quant.Lookup(quant.F32)
	if b.err == nil {
		need, tile := &b.r.need, min(p.Splits.Tile, b.r.context)
		need.query = max(need.query, headBlock*t.dim())
		need.scores = max(need.scores, headBlock*tile)
		need.tile = max(need.tile, tile*t.dim())
	}
	return t
}

func (t *attend) dim() int { return t.latDim + t.peDim }

// size knows no cost: it depends on the position.
func (t *attend) size() (units, cost int) { return t.splits.Count * t.blocks, 0 }

func (t *attend) run(w *worker, lo, hi int) {
	for u := lo; u < hi; u++ {
		first := u % t.blocks * headBlock
		t.unit(w, u/t.blocks, first, min(headBlock, t.heads-first))
	}
}

// unit runs heads [first, first+heads) over the rows of one split: scores and an
// online softmax tile by tile, as in FlashAttention. The output stays
// unnormalised; combine divides.
func (t *attend) unit(w *worker, split, first, heads int) {
	n := int(w.step.NKV)
	per := t.splits.Per(n)
	row0 := split*t.heads + first
	ml := t.ml[2*row0 : 2*(row0+heads)]
	for h := range heads {
		ml[2*h], ml[2*h+1] = lowest, 0
	}
	start, end := split*per, min((split+1)*per, n)
	if start >= end {
		return
	}
	out := t.out[row0*t.latDim : (row0+heads)*t.latDim]
	clear(out)
	query := t.queries(w, first, heads)
	for at := start; at < end; at += t.splits.Tile {
		rows := min(t.splits.Tile, end-at)
		tile := t.cache.read(at*t.dim(), rows*t.dim(), w.tile)
		scores := w.scores[:rows*heads]
		for r := range rows { // the queries are the matrix: all heads' products with one row
			t.f32.Rows(bytesOf(query), 4*t.dim(), tile[r*t.dim():(r+1)*t.dim()], scores[r*heads:(r+1)*heads])
		}
		for h := range heads {
			softmaxTile(scores, h, heads, ml[2*h:2*h+2], out[h*t.latDim:(h+1)*t.latDim])
		}
		for r := range rows {
			value := tile[r*t.dim() : r*t.dim()+t.latDim]
			for h := range heads {
				quant.Axpy(out[h*t.latDim:(h+1)*t.latDim], scores[r*heads+h], value)
			}
		}
	}
}

// queries packs the scaled queries [q_abs | q_pe] of a block of heads.
func (t *attend) queries(w *worker, first, heads int) []float32 {
	query := w.query[:heads*t.dim()]
	for h := range heads {
		q := query[h*t.dim() : (h+1)*t.dim()]
		lat, pe := q[:t.latDim], q[t.latDim:]
		copy(lat, t.qAbs.read((first+h)*t.qAbs.stride, t.latDim, lat))
		copy(pe, t.qPe.read((first+h)*t.qPe.stride, t.peDim, pe))
	}
	quant.Scale(query, t.scale)
	return query
}

// softmaxTile turns the scores of head h, one of heads in each row of the tile,
// into e^(score-m) for the running maximum m, updates (m, l) and rescales what
// is accumulated when m rises.
func softmaxTile(scores []float32, h, heads int, ml, out []float32) {
	m := ml[0]
	for i := h; i < len(scores); i += heads {
		m = max(m, scores[i])
	}
	if m > ml[0] {
		shrink := exp32(ml[0] - m)
		ml[0], ml[1] = m, ml[1]*shrink
		quant.Scale(out, shrink)
	}
	for i := h; i < len(scores); i += heads {
		p := exp32(scores[i] - m)
		scores[i] = p
		ml[1] += p
	}
}
