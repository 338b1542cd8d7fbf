package engine

import (
	"errors"
	"math"
	"strings"
	"testing"

	"mla/runtime/device"
	"mla/runtime/gguf"
	"mla/runtime/load/bind"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// onHost is a device that uses the host's memory.
type onHost struct{ device.Device }

func (onHost) Takes(l *device.Layout) int64 { return l.HostBytes() }

func TestEstimate(t *testing.T) {
	e := &Engine{
		context: 10, device: onHost{},
		resolved: bind.Resolve(&gguf.File{Shards: []gguf.Shard{{Data: make([]byte, 1000)}, {Data: make([]byte, 24)}}}),
		bundle: &plan.Bundle{RopeFreqs: make([]float64, 32), PickBytes: 700, Counters: 30,
			Model:     plan.Model{Dims: plan.Dims{NumHiddenLayers: 27, KVLoraRank: 512, QKRopeHeadDim: 64, VocabSize: 100, MaxPositionEmbeddings: 256}},
			Sequences: []plan.Sequence{{Width: 1, ArenaBytes: 4096}, {Width: 4, ArenaBytes: 5000}, {Width: 16, ArenaBytes: 9000}}},
	}
	for kv, row := range map[quant.Type]int64{quant.F16: 576 * 2, quant.F32: 576 * 4, quant.Q8_0: 576 + 576/32*2} {
		m, err := e.Estimate(device.Config{Context: 10, KV: kv})
		want := Memory{File: 1024, Pages: 64 * 27 * row, Buffers: 4096 + 10*32*8 + 4*4 + 400, Tokens: 64}
		if err != nil || m != want {
			t.Errorf("%s: %+v, %v; want %+v", kv, m, err, want)
		}
	}
	// Layers with linear attention have a state in place of a cache.
	hybrid := *e
	b := *e.bundle
	b.Model.NumAttentionHeads = 2
	b.Model.Hybrid = &plan.Hybrid{LinearAttention: plan.LinearAttention{HeadDim: 32, ShortConvKernelSize: 4}, FullAttnLayers: []int{26}}
	hybrid.bundle = &b
	m, err := hybrid.Estimate(device.Config{Context: 10, KV: quant.F16, Tables: 3, Pages: 1})
	if state := int64(26 * 4 * (2*32*32 + 3*64*3)); err != nil || m.Pages != 64*576*2 || m.States != 3*state || m.Saved != 3*8*state || !strings.Contains(m.String(), "saved states") {
		t.Errorf("a hybrid model: %+v, %v; a state is of %d bytes", m, err, state)
	}
	// Sequences of several rows take more, as far as they are loaded.
	for width, buffers := range map[int]int64{1: 4096 + 400, 3: 5000 + 4*400, 4: 5000 + 4*400, 5: 9000 + 16*400, 99: 9000 + 16*400} {
		m, err := e.Estimate(device.Config{Context: 10, KV: quant.F16, Width: width})
		if want := buffers + 10*32*8 + 4*4; err != nil || m.Buffers != want {
			t.Errorf("%d rows: buffers of %d, %v; want %d", width, m.Buffers, err, want)
		}
	}
	// With memory of its own, the device holds as much, and what it picks tokens by.
	e.device = separate{}
	if m, err := e.Estimate(device.Config{Context: 10, KV: quant.F16}); err != nil || !m.OnDevice || m.Pages != 64*27*576*2 || m.Buffers != 4096+10*32*8+4*4+400+730 {
		t.Errorf("a device with memory of its own: %+v, %v", m, err)
	}
	for _, context := range []int{math.MinInt, -1, 0, 11, math.MaxInt} {
		if m, err := e.Estimate(device.Config{Context: context, KV: quant.F16}); err == nil || !strings.Contains(err.Error(), "allows 1 to 10") {
			t.Errorf("a context of %d: %v, %v", context, m, err)
		}
	}
	if _, err := e.Estimate(device.Config{Context: 10, KV: quant.Q4_0}); err == nil {
		t.Error("a cache of type q4_0 is accepted")
	}
}

// separate is a device with memory of its own.
type separate struct{ device.Device }

func (separate) OwnMemory() bool { return true }

func (separate) Takes(l *device.Layout) int64 { return l.Bytes() }

// TestMemoryOnDevice checks that a device with its own memory needs host memory for converted weights only.
func TestMemoryOnDevice(t *testing.T) {
	m := Memory{File: 3 << 30, Copies: 1 << 20, Pages: 1 << 30, Tokens: 4096, Buffers: 512, OnDevice: true}
	if err := m.within(m.Copies); err != nil {
		t.Error(err)
	}
	if err := m.within(m.Copies - 1); err == nil || err.Error() != "not enough memory: converted weights 1.00 MiB, but 1024.0 KiB are available" {
		t.Errorf("error %v", err)
	}
	if want := "= 4.00 GiB on the device"; !strings.HasSuffix(m.String(), want) {
		t.Errorf("%q; want %q at its end", m, want)
	}
}

func TestMemoryCheck(t *testing.T) {
	m := Memory{File: 3 << 30, Copies: 1 << 20, Pages: 1 << 30, Tokens: 4096, Buffers: 512}
	for _, available := range []int64{0, m.Total(), m.Total() + 1} {
		if err := m.within(available); err != nil {
			t.Errorf("%d bytes of %d: %v", m.Total(), available, err)
		}
	}
	err := m.within(2 << 30)
	var refusal *MemoryError
	if !errors.As(err, &refusal) {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{"weights 3.00 GiB", "converted 1.00 MiB", "pages 1.00 GiB (4096 tokens)", "buffers 512 B", "= 4.00 GiB", "2.00 GiB are available"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1536: "1.50 KiB", 20 << 20: "20.0 MiB", 1 << 62: "4194304.0 TiB"} {
		if got := Size(n); got != want {
			t.Errorf("Size(%d) = %q; want %q", n, got, want)
		}
	}
}
