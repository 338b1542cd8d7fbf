package device

import (
	"cmp"
	"fmt"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// Layout is the memory that a recording takes beside the weights, in bytes.
type Layout struct {
	Width               int       // rows of the widest sequence that is loaded
	Arena, Rope, Logits int64     // the arena of the sequence that needs most
	Sample              int64     // the sampler's; 0: the bundle has none
	Counters            int64     // of tails, to be zeroed; 0: the bundle has none
	Tables              int64     // block tables
	Cache               int64     // of one layer
	Layers              int       // caches
	Pages               int       // of a cache
	MaxPages            int       // entries of a block table
	Freqs               []float64 // of the rotary table: angle per position of each pair, radians
}

// The limits on what a bundle may ask for, which keep sizes from overflowing.
const (
	maxContext   = 1 << 24
	maxDimension = 1 << 24
	maxArena     = 1 << 32
)

// The limits on a Config.
const (
	MaxTables = 1 << 12
	MaxPages  = 1 << 22
	MaxWidth  = 1 << 10 // rows of a sequence
)

// Sequences lists the sequences that a configuration loads: up to the narrowest that holds
// as many rows as it asks for.
func (m *Model) Sequences(cfg Config) []plan.Sequence {
	all := m.Bundle.Sequences()
	n := 1
	for n < len(all) && all[n-1].Width < cfg.Width {
		n++
	}
	return all[:n]
}

// Layout checks a configuration, and what of the bundle sizes depend on, for
// devices that hold the cache as F16 or F32. It also makes sure that every weight
// lies in its region.
func (m *Model) Layout(cfg Config) (*Layout, error) {
	b := m.Bundle
	model := &b.Model
	elem := int64(2)
	if cfg.KV == quant.F32 {
		elem = 4
	}
	switch {
	case cfg.KV != quant.F16 && cfg.KV != quant.F32:
		return nil, fmt.Errorf("KV cache of %s; expected f16 or f32", cfg.KV)
	case cfg.Tables < 0 || cfg.Tables > MaxTables:
		return nil, fmt.Errorf("%d block tables; expected 1 to %d", cfg.Tables, MaxTables)
	case cfg.Pages < 0 || cfg.Pages > MaxPages:
		return nil, fmt.Errorf("%d pages of the KV cache; expected 1 to %d", cfg.Pages, MaxPages)
	case cfg.Context < 1 || cfg.Context > maxContext:
		return nil, fmt.Errorf("a context of %d tokens; expected 1 to %d", cfg.Context, maxContext)
	case cfg.Width < 0 || cfg.Width > MaxWidth:
		return nil, fmt.Errorf("%d rows at a time; expected 1 to %d", cfg.Width, MaxWidth)
	case b.SampleBytes < 0 || b.SampleBytes > maxArena:
		return nil, fmt.Errorf("a sampler's memory of %d bytes; expected 0 to %d", b.SampleBytes, int64(maxArena))
	case b.Counters < 0 || b.Counters > maxArena:
		return nil, fmt.Errorf("counters of %d bytes; expected 0 to %d", b.Counters, int64(maxArena))
	case m.RopeFactors.wrong(len(b.RopeFreqs)):
		return nil, fmt.Errorf("%d and %d factors for %d rotary frequencies", len(m.RopeFactors.Short), len(m.RopeFactors.Long), len(b.RopeFreqs))
	case 2*len(b.RopeFreqs) != model.QKRopeHeadDim:
		return nil, fmt.Errorf("%d rotary frequencies for %d dimensions", len(b.RopeFreqs), model.QKRopeHeadDim)
	}
	width, arena := 0, int64(0)
	for _, q := range m.Sequences(cfg) {
		switch {
		case q.Width <= width || q.Width > MaxWidth:
			return nil, fmt.Errorf("a sequence of %d rows behind one of %d; expected more, up to %d", q.Width, width, MaxWidth)
		case q.ArenaBytes < 1 || q.ArenaBytes > maxArena:
			return nil, fmt.Errorf("an arena of %d bytes for %d rows; expected 1 to %d", q.ArenaBytes, q.Width, int64(maxArena))
		case q.Head < 0 || q.Head > len(q.Dispatches):
			return nil, fmt.Errorf("the head begins at dispatch %d of %d", q.Head, len(q.Dispatches))
		}
		width, arena = q.Width, max(arena, q.ArenaBytes)
	}
	for _, n := range []int{model.VocabSize, model.NumHiddenLayers, model.KVLoraRank, model.QKRopeHeadDim} {
		if n < 1 || n > maxDimension {
			return nil, fmt.Errorf("dimension %d in the model", n)
		}
	}
	for i := range b.Weights {
		for l := range max(1, b.Weights[i].Last-b.Weights[i].First) {
			if _, err := m.Lookup(i, b.Weights[i].First+l); err != nil {
				return nil, err
			}
		}
	}
	if n := model.MaxPositionEmbeddings; n < 1 || n > maxContext || cfg.Context > n {
		return nil, fmt.Errorf("a context of %d tokens in a model of %d positions", cfg.Context, n)
	}
	pages := cmp.Or(cfg.Pages, plan.Pages(cfg.Context))
	return &Layout{
		Width:    width,
		Arena:    arena,
		Sample:   b.SampleBytes,
		Counters: b.Counters,
		Rope:     int64(cfg.Context) * int64(model.QKRopeHeadDim) * 4,
		Logits:   int64(width) * int64(model.VocabSize) * 4,
		Tables:   int64(max(cfg.Tables, 1)) * int64(model.MaxPages()) * 4,
		Cache:    int64(pages) * plan.PageRows * int64(model.CacheDim()) * elem,
		Layers:   model.NumHiddenLayers,
		Pages:    pages,
		MaxPages: model.MaxPages(),
		Freqs:    m.ropeFreqs(cfg.Context),
	}, nil
}

// NewTables is the host's copy of the block tables.
func (l *Layout) NewTables() *Tables {
	return NewTables(int(l.Tables/4)/l.MaxPages, l.MaxPages, l.Pages)
}

// PageBytes is the size of a page of all layers.
func (l *Layout) PageBytes() int { return int(l.Cache / int64(l.Pages) * int64(l.Layers)) }

// Bytes is all of it.
func (l *Layout) Bytes() int64 {
	return l.Arena + l.Sample + l.Counters + l.Rope + l.Logits + l.Tables + l.Cache*int64(l.Layers)
}
