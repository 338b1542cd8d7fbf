package cpu

import "mla/runtime/plan"

// storeKV is the CPU kernel of plan.StoreKV.
type storeKV struct {
	lat, kPe      vec
	latDim, peDim int
	cache         paged
	norm          *norm
	rope          *rope
}

func bindStoreKV(b *binder, p *plan.StoreKV) *storeKV {
	b.scratch(p.LatDim + p.PeDim)
	return &storeKV{
		lat:    b.vector(p.Lat, 1, p.LatDim),
		kPe:    b.vector(p.KPe, 1, p.PeDim),
		latDim: p.LatDim, peDim: p.PeDim,
		cache: b.cache(p.Cache, p.LatDim+p.PeDim),
		norm:  b.norm(p.Norm, p.LatDim),
		rope:  b.rope(p.Rope),
	}
}

func (t *storeKV) size() (units, cost int) { return 1, 8 * (t.latDim + t.peDim) }

func (t *storeKV) run(w *worker, _, _ int) {
	row := w.temp(t.latDim + t.peDim)
	lat, pe := row[:t.latDim], row[t.latDim:]
	copy(lat, t.lat.read(0, len(lat), lat))
	copy(pe, t.kPe.read(0, len(pe), pe))
	if t.norm != nil {
		t.norm.apply(lat, lat)
	}
	if t.rope != nil {
		t.rope.apply(pe, 0, w.row.Pos)
	}
	t.cache.write(w.row.Table, int(w.row.Pos), row)
}
