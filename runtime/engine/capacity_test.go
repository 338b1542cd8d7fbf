package engine

import (
	"strings"
	"testing"

	"mla/runtime/device"
	"mla/runtime/gguf"
	"mla/runtime/load/bind"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// TestRoom checks the default context: it follows from the free memory, is at most the model's context, and
// its cache takes at most half of the free memory.
func TestRoom(t *testing.T) {
	const weights, row = 1 << 20, 27 * 576 * 2 // row: bytes of the cache per position
	engine := func(context int) *Engine {
		return &Engine{
			context: context, device: onHost{},
			resolved: bind.Resolve(&gguf.File{Shards: []gguf.Shard{{Data: make([]byte, weights)}}}),
			bundle: &plan.Bundle{RopeFreqs: make([]float64, 32),
				Model:     plan.Model{Dims: plan.Dims{NumHiddenLayers: 27, KVLoraRank: 512, QKRopeHeadDim: 64, VocabSize: 100, MaxPositionEmbeddings: context}},
				Sequences: []plan.Sequence{{Width: 1, ArenaBytes: 4096}}},
		}
	}
	cfg := device.Config{KV: quant.F16}
	for _, tt := range []struct {
		context, sessions int
		free              int64
		want              int
		why               string
	}{
		{20000, 1, 0, 4096, "not known"},
		{20000, 1, 1 << 40, 20000, "all that the model has"},
		{1000, 4, 1 << 40, 1000, "all that the model has"},
		{1 << 20, 1, 1 << 40, 128 << 10, "the most without -c; the model has 1048576"},
		// Of 2 GB of free memory the cache takes half.
		{1 << 20, 1, 2e9, 31808, "half of the memory"},
		{1 << 20, 4, 2e9, 8000, "half of the memory"},
		// If half is too little for a conversation, the cache takes all free memory.
		{1 << 20, 1, 200e6, 4096, "as memory allows; the model has 1048576"},
		{1 << 20, 1, 100e6, 3136, "as memory allows"},
		// If nothing fits, the later check of the memory reports it.
		{1 << 20, 1, 1000, 4096, "as memory allows"},
	} {
		e := engine(tt.context)
		r, err := e.Capacity(cfg, tt.sessions, tt.free)
		if err != nil || r.Context != tt.want || !strings.Contains(r.Why, tt.why) {
			t.Errorf("%+v: %+v, %v", tt, r, err)
		}
		if tt.free < 1e6 {
			continue
		}
		m, err := e.taken(cfg, tt.sessions, r.Context)
		if err != nil || m.Total() > tt.free {
			t.Errorf("%+v: %s, %v", tt, m, err)
		}
		if more := m.Total() + plan.PageRows*int64(tt.sessions)*(row+256); tt.why == "half of the memory" && more < weights+(tt.free-weights)/2 {
			t.Errorf("%+v: there is room for another page beside %s", tt, m)
		}
	}
	if n := engine(1000).Fitting(cfg, 1, 1<<40); n != 1000 {
		t.Errorf("all of the memory fits %d", n)
	}
}
