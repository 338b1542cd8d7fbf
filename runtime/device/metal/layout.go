package metal

import (
	"fmt"

	"mla/runtime/device"
	"mla/runtime/quant"
)

// layout is the size of everything that a recording needs, in bytes.
type layout struct {
	*weights
	arena, rope, logits int64
	sample              int64 // the sampler's memory; 0: the bundle has no sampler
	cache               int64 // of one layer
	layers              int
	args                []byte // see sequence
}

// The limits on what a bundle may ask for, which keep sizes from overflowing.
const (
	maxContext   = 1 << 24
	maxDimension = 1 << 24
	maxArena     = 1 << 32
)

// newLayout checks the configuration and computes sizes.
func newLayout(m *device.Model, cfg device.Config, limit int64) (*layout, error) {
	b := m.Bundle
	model := &b.Model
	elem := int64(2)
	if cfg.KV == quant.F32 {
		elem = 4
	}
	switch {
	case cfg.KV != quant.F16 && cfg.KV != quant.F32:
		return nil, fmt.Errorf("KV cache of %s; Metal has f16 and f32", cfg.KV)
	case cfg.Context < 1 || cfg.Context > maxContext:
		return nil, fmt.Errorf("a context of %d tokens; expected 1 to %d", cfg.Context, maxContext)
	case b.ArenaBytes < 1 || b.ArenaBytes > maxArena:
		return nil, fmt.Errorf("an arena of %d bytes; expected 1 to %d", b.ArenaBytes, int64(maxArena))
	case b.SampleBytes < 0 || b.SampleBytes > maxArena:
		return nil, fmt.Errorf("a sampler's memory of %d bytes; expected 0 to %d", b.SampleBytes, int64(maxArena))
	case 2*len(b.RopeFreqs) != model.QKRopeHeadDim:
		return nil, fmt.Errorf("%d rotary frequencies for %d dimensions", len(b.RopeFreqs), model.QKRopeHeadDim)
	case b.Head < 0 || b.Head > len(b.Decode):
		return nil, fmt.Errorf("the head begins at dispatch %d of %d", b.Head, len(b.Decode))
	case m.Mapped < 0 || m.Mapped > len(m.Regions):
		return nil, fmt.Errorf("%d of %d regions are mapped", m.Mapped, len(m.Regions))
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
	w, err := placeWeights(m, limit)
	if err != nil {
		return nil, err
	}
	return &layout{
		weights: w,
		arena:   b.ArenaBytes,
		sample:  b.SampleBytes,
		rope:    int64(cfg.Context) * int64(model.QKRopeHeadDim) * 4,
		logits:  int64(model.VocabSize) * 4,
		cache:   int64(cfg.Context) * int64(model.CacheDim()) * elem,
		layers:  model.NumHiddenLayers,
	}, nil
}

// own is the memory that the runner allocates beside weights.
func (l *layout) own() int64 {
	return l.arena + l.sample + l.rope + l.logits + l.cache*int64(l.layers) + int64(len(l.args)) + ring*stepBytes
}

// fits refuses what the GPU cannot hold, before anything is allocated.
func (l *layout) fits(gpu *Info) error {
	total := uint64(l.own())
	for _, w := range l.windows {
		total += uint64(w.length)
	}
	for _, t := range l.copies {
		total += uint64(t.Bytes)
	}
	for _, one := range []struct {
		what  string
		bytes int64
	}{{"the KV cache of a layer", l.cache}, {"the arena", l.arena}, {"the rotary table", l.rope}, {"the logits", l.logits}} {
		if uint64(one.bytes) > gpu.MaxBuffer {
			return fmt.Errorf("%s needs %d bytes; %s allows %d in one buffer", one.what, one.bytes, gpu.Name, gpu.MaxBuffer)
		}
	}
	if total > gpu.MaxMemory {
		return fmt.Errorf("weights, caches and buffers need %d bytes; %s recommends at most %d. A smaller context needs less", total, gpu.Name, gpu.MaxMemory)
	}
	return nil
}
