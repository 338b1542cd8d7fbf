package device

import (
	"fmt"

	"mla/runtime/quant"
)

// Layout is the memory that a recording takes beside the weights, in bytes.
type Layout struct {
	Arena, Rope, Logits int64
	Sample              int64 // the sampler's; 0: the bundle has none
	Counters            int64 // of tails, to be zeroed; 0: the bundle has none
	Cache               int64 // of one layer
	Layers              int   // caches
}

// The limits on what a bundle may ask for, which keep sizes from overflowing.
const (
	maxContext   = 1 << 24
	maxDimension = 1 << 24
	maxArena     = 1 << 32
)

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
	case cfg.Context < 1 || cfg.Context > maxContext:
		return nil, fmt.Errorf("a context of %d tokens; expected 1 to %d", cfg.Context, maxContext)
	case b.ArenaBytes < 1 || b.ArenaBytes > maxArena:
		return nil, fmt.Errorf("an arena of %d bytes; expected 1 to %d", b.ArenaBytes, int64(maxArena))
	case b.SampleBytes < 0 || b.SampleBytes > maxArena:
		return nil, fmt.Errorf("a sampler's memory of %d bytes; expected 0 to %d", b.SampleBytes, int64(maxArena))
	case b.Counters < 0 || b.Counters > maxArena:
		return nil, fmt.Errorf("counters of %d bytes; expected 0 to %d", b.Counters, int64(maxArena))
	case 2*len(b.RopeFreqs) != model.QKRopeHeadDim:
		return nil, fmt.Errorf("%d rotary frequencies for %d dimensions", len(b.RopeFreqs), model.QKRopeHeadDim)
	case b.Head < 0 || b.Head > len(b.Decode):
		return nil, fmt.Errorf("the head begins at dispatch %d of %d", b.Head, len(b.Decode))
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
	return &Layout{
		Arena:    b.ArenaBytes,
		Sample:   b.SampleBytes,
		Counters: b.Counters,
		Rope:     int64(cfg.Context) * int64(model.QKRopeHeadDim) * 4,
		Logits:   int64(model.VocabSize) * 4,
		Cache:    int64(cfg.Context) * int64(model.CacheDim()) * elem,
		Layers:   model.NumHiddenLayers,
	}, nil
}

// Bytes is all of it.
func (l *Layout) Bytes() int64 {
	return l.Arena + l.Sample + l.Counters + l.Rope + l.Logits + l.Cache*int64(l.Layers)
}
