package cpu

import (
	"mla/runtime/device/linalg"
	"mla/runtime/plan"
)

// headPages is a bound slot of SpaceHeads: pages of the keys and values of all heads.
type headPages struct {
	numbers
	page     plan.HeadsPage
	tables   []uint32
	maxPages int
}

// headPages binds the expanded heads of a layer.
func (b *binder) headPages(p plan.Paged) headPages {
	b.slot(p.Tables, plan.SpaceTables)
	slot, at := b.slot(p.Slot, plan.SpaceHeads)
	if slot == nil {
		return headPages{}
	}
	h := headPages{page: b.model.Bundle.Model.HeadsPage(), tables: b.r.tables.Entries, maxPages: p.MaxPages}
	h.numbers = b.numbers(slot, at, product(int64(b.r.pages), int64(h.page.Elements)))
	return h
}

// at is the number at which the heads of page i of a block table begin.
func (h *headPages) at(table uint32, i int) int {
	return int(h.tables[int(table)*h.maxPages+i]) * h.page.Elements
}

// expand is the CPU kernel of plan.ExpandHeads. A unit is one head and a share of the pages. It decodes the
// head's weights once for all of them.
type expand struct {
	w             weight
	keys          bool
	heads, dim    int
	latDim, width int // latent columns, and all columns of a cache row
	shares        int
	cache         paged
	out           headPages
}

func bindExpandHeads(b *binder, p *plan.ExpandHeads) *expand {
	rows, cols := p.Dim, p.LatDim
	if p.Keys {
		rows, cols = cols, rows
	}
	t := &expand{
		w:    b.matrix(p.W, p.Heads, rows, cols),
		keys: p.Keys, heads: p.Heads, dim: p.Dim, latDim: p.LatDim, width: p.LatDim + p.PeDim, shares: p.Shares,
		cache: b.cache(p.Cache, p.LatDim+p.PeDim),
		out:   b.headPages(plan.Paged{Slot: p.Out, Tables: p.Cache.Tables, MaxPages: p.Cache.MaxPages}),
	}
	if b.err == nil {
		b.r.need.tile = max(b.r.need.tile, plan.PageRows*(t.width+t.latDim))
		b.r.need.query = max(b.r.need.query, p.Dim*p.LatDim)
		b.r.need.sums = max(b.r.need.sums, plan.PageRows*max(p.Dim, p.PeDim))
	}
	return t
}

func (t *expand) size() (units, cost int) { return t.heads * t.shares, 0 }

func (t *expand) run(w *worker, lo, hi int) {
	for u := lo; u < hi; u++ {
		head, share := u/t.shares, u%t.shares
		panel := w.query[:t.dim*t.latDim] // attention, which also uses this memory, prepares its queries again
		w.queryKey = key{}
		t.w.format.Dequantize(panel, t.w.data[head*t.w.stride:][:len(panel)/t.w.format.BlockElems*t.w.format.BlockBytes])
		eachTable(w.rows, func(table uint32, nkv int) {
			for i := share; i*plan.PageRows < nkv; i += t.shares {
				t.expandPage(w, panel, table, i, min(nkv-i*plan.PageRows, plan.PageRows), head)
			}
		})
	}
}

// expandPage computes one head of page i of a block table. The page has n rows.
func (t *expand) expandPage(w *worker, panel []float32, table uint32, i, n, head int) {
	tile := w.tile[:plan.PageRows*t.width]
	copy(tile, t.cache.read(table, i*plan.PageRows, n, tile))
	for r := n; r < plan.PageRows; r++ {
		copy(tile[r*t.width:(r+1)*t.width], tile[(n-1)*t.width:])
	}
	sums := w.sums[:plan.PageRows*t.dim]
	clear(sums)
	rows := matrix(tile, plan.PageRows, t.latDim, t.width)
	at := t.out.at(table, i)
	if t.keys {
		keys, weights := matrix(sums, plan.PageRows, t.dim, t.dim), matrix(panel, t.latDim, t.dim, t.dim)
		linalg.AddProduct(&keys, &rows, &weights)
		t.out.write(at+t.out.page.Keys+head*len(sums), sums)
		if head == 0 {
			t.rotated(w, tile, at)
		}
		return
	}
	turned := w.tile[len(tile):][:plan.PageRows*t.latDim]
	for r := range plan.PageRows {
		for c, v := range tile[r*t.width:][:t.latDim] {
			turned[c*plan.PageRows+r] = v
		}
	}
	values, weights, latents := matrix(sums, t.dim, plan.PageRows, plan.PageRows), matrix(panel, t.dim, t.latDim, t.latDim), matrix(turned, t.latDim, plan.PageRows, plan.PageRows)
	linalg.AddProduct(&values, &weights, &latents)
	t.out.write(at+t.out.page.Values+head*len(sums), sums)
}

// rotated copies the rotated columns of a page's rows.
func (t *expand) rotated(w *worker, tile []float32, at int) {
	pe := t.width - t.latDim
	for r := range plan.PageRows {
		t.out.write(at+t.out.page.Rotated+r*pe, tile[r*t.width+t.latDim:(r+1)*t.width])
	}
}

// eachTable calls f for every block table of some rows, with the largest NKV of its rows.
func eachTable(rows []plan.Row, f func(table uint32, nkv int)) {
	for i, r := range rows {
		if i > 0 && rows[i-1].Table == r.Table {
			continue // the rows of a prompt share one table
		}
		first, nkv := true, 0
		for j, o := range rows {
			if o.Table == r.Table {
				first, nkv = first && j >= i, max(nkv, int(o.NKV))
			}
		}
		if first && nkv > 0 {
			f(r.Table, nkv)
		}
	}
}
