package device

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// groups is a part of n threadgroups.
type groups int

func (g groups) Groups() int { return int(g) }

// toy is a model of three dispatches and a sampler over every space.
func toy() (*Model, Config) {
	b := &plan.Bundle{
		Name: "toy", ArenaBytes: 1024, SampleBytes: 512, RopeFreqs: []float64{1, 0.5}, RopeMScale: 1, Head: 1,
		Model:   plan.Model{VocabSize: 10, NumHiddenLayers: 2, KVLoraRank: 12, QKRopeHeadDim: 4},
		Weights: []plan.Weight{{Role: "a", First: 0, Last: 2}, {Role: "b", First: -1}},
		Kernels: []plan.Kernel{
			{Name: "k", Threads: 64, Parts: []plan.Part{groups(3), groups(4)}, Args: []int{0},
				Slots: []plan.Slot{
					{Name: "w", Elem: plan.ElemTyped}, {Name: "cache", Space: plan.SpaceKV, Elem: plan.ElemTyped},
					{Name: "x", Space: plan.SpaceArena}, {Name: "args", Space: plan.SpaceArgs, Elem: plan.ElemArgs},
					{Name: "step", Space: plan.SpaceStep, Elem: plan.ElemStep}, {Name: "rope", Space: plan.SpaceRope},
				},
				Variants: []plan.Variant{{Func: "k_f16", Types: []quant.Type{quant.Q8_0, quant.F16}}, {Func: "k_f32", Types: []quant.Type{quant.Q8_0, quant.F32}}}},
			{Name: "head", Threads: 32, Parts: []plan.Part{groups(1)}, Slots: []plan.Slot{{Name: "out", Space: plan.SpaceLogits, Write: true}},
				Variants: []plan.Variant{{Func: "head"}}},
			{Name: "pick", Threads: 32, Parts: []plan.Part{groups(2)}, Slots: []plan.Slot{{Name: "state", Space: plan.SpaceSample}},
				Variants: []plan.Variant{{Func: "pick"}}},
		},
	}
	layer := func(l int, barrier bool) plan.Dispatch {
		return plan.Dispatch{Layer: l, Barrier: barrier, Operands: []plan.Operand{
			{}, {Space: plan.SpaceKV, Index: l}, {Space: plan.SpaceArena, Offset: 256, Bytes: 64}, {Space: plan.SpaceArgs},
			{Space: plan.SpaceStep}, {Space: plan.SpaceRope}}}
	}
	b.Decode = []plan.Dispatch{layer(0, false), layer(1, true), {Kernel: 1, Layer: -1, Operands: []plan.Operand{{Space: plan.SpaceLogits}}}}
	b.Sample = []plan.Dispatch{{Kernel: 2, Layer: -1, Operands: []plan.Operand{{Space: plan.SpaceSample, Offset: 256, Bytes: 64}}}}
	w := func(offset, stride int64) Weight {
		return Weight{Tensor: "t", Type: quant.Q8_0, Offset: offset, Bytes: 340, BatchStride: stride}
	}
	m := &Model{Bundle: b, Regions: [][]byte{make([]byte, 1000)}, Weights: [][]Weight{{w(0, 34), w(500, 68)}, {w(64, 0)}}}
	return m, Config{Context: 5, KV: quant.F16}
}

func resolve(m *Model, cfg Config) (*Commands, *Layout, error) {
	l, err := m.Layout(cfg)
	if err != nil {
		return nil, nil, err
	}
	c, err := m.Commands(l, cfg.KV)
	return c, l, err
}

func TestCommands(t *testing.T) {
	m, cfg := toy()
	c, l, err := resolve(m, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Decode) != 3 || len(c.Sample) != 1 || c.Sample[0].Bindings[0] != (Binding{Space: plan.SpaceSample, Offset: 256}) {
		t.Errorf("%+v", c)
	}
	want := []Binding{
		{Space: plan.SpaceWeight, Weight: &m.Weights[0][1]}, {Space: plan.SpaceKV, Index: 1}, {Space: plan.SpaceArena, Offset: 256},
		{Space: plan.SpaceArgs, Offset: ConstantsAlign}, {Space: plan.SpaceStep}, {Space: plan.SpaceRope},
	}
	second := c.Decode[1]
	if second.Groups != 7 || second.Variant.Func != "k_f16" || second.Kernel != &m.Bundle.Kernels[0] || second.Dispatch != &m.Bundle.Decode[1] {
		t.Errorf("%+v", second)
	}
	for i := range want {
		if second.Bindings[i] != want[i] {
			t.Errorf("binding %d: %+v; expected %+v", i, second.Bindings[i], want[i])
		}
	}
	constants := make([]byte, 2*ConstantsAlign)
	constants[0], constants[ConstantsAlign] = 34, 68
	if !bytes.Equal(c.Constants, constants) {
		t.Errorf("constants %v", c.Constants)
	}
	if *l != (Layout{Arena: 1024, Rope: 80, Logits: 40, Sample: 512, Cache: 5 * 16 * 2, Layers: 2}) || l.Bytes() != 1024+80+40+512+2*160 {
		t.Errorf("%+v: %d bytes", l, l.Bytes())
	}
	// With float32 caches, and equal strides, which are shared.
	cfg.KV, m.Weights[0][1].BatchStride = quant.F32, 34
	if c, l, err = resolve(m, cfg); err != nil || l.Cache != 5*16*4 || c.Decode[0].Variant.Func != "k_f32" || len(c.Constants) != ConstantsAlign {
		t.Errorf("%+v, %d bytes of constants, %v", l, len(c.Constants), err)
	}
}

// TestHostile bends bundle, binding and configuration, and wants an error.
func TestHostile(t *testing.T) {
	op := func(m *Model, i int) *plan.Operand { return &m.Bundle.Decode[1].Operands[i] }
	for name, bend := range map[string]func(*Model, *Config){
		"kernel":          func(m *Model, _ *Config) { m.Bundle.Decode[0].Kernel = 9 },
		"operands":        func(m *Model, _ *Config) { m.Bundle.Decode[0].Operands = nil },
		"space":           func(m *Model, _ *Config) { op(m, 4).Space = plan.SpaceRope },
		"foreign space":   func(m *Model, _ *Config) { op(m, 4).Space, m.Bundle.Kernels[0].Slots[4].Space = 99, 99 },
		"weight row":      func(m *Model, _ *Config) { op(m, 0).Index = 7 },
		"weight layer":    func(m *Model, _ *Config) { m.Bundle.Decode[1].Layer = 3 },
		"cache":           func(m *Model, _ *Config) { op(m, 1).Index = 2 },
		"arena end":       func(m *Model, _ *Config) { op(m, 2).Offset = 1008 },
		"arena negative":  func(m *Model, _ *Config) { op(m, 2).Offset = -16 },
		"arena overflow":  func(m *Model, _ *Config) { op(m, 2).Bytes = 1 << 62 },
		"arena unaligned": func(m *Model, _ *Config) { op(m, 2).Offset = 4 },
		"arena":           func(m *Model, _ *Config) { m.Bundle.ArenaBytes = 0 },
		"sampler's end":   func(m *Model, _ *Config) { m.Bundle.Sample[0].Operands[0].Bytes = 257 },
		"sampler at -256": func(m *Model, _ *Config) { m.Bundle.Sample[0].Operands[0].Offset = -256 },
		"sampler at 4":    func(m *Model, _ *Config) { m.Bundle.Sample[0].Operands[0].Offset = 4 },
		"no sampler":      func(m *Model, _ *Config) { m.Bundle.SampleBytes = 0 },
		"sampler":         func(m *Model, _ *Config) { m.Bundle.SampleBytes = -1 },
		"counters":        func(m *Model, _ *Config) { m.Bundle.Counters = -1 },
		"counters' end": func(m *Model, _ *Config) {
			op(m, 4).Space, op(m, 4).Bytes, m.Bundle.Kernels[0].Slots[4].Space, m.Bundle.Counters = plan.SpaceCounters, 257, plan.SpaceCounters, 256
		},
		"no counters": func(m *Model, _ *Config) {
			op(m, 4).Space, op(m, 4).Bytes, m.Bundle.Kernels[0].Slots[4].Space = plan.SpaceCounters, 4, plan.SpaceCounters
		},
		"args":          func(m *Model, _ *Config) { m.Bundle.Kernels[0].Args[0] = 2 },
		"stride":        func(m *Model, _ *Config) { m.Weights[0][1].BatchStride = -1 },
		"region":        func(m *Model, _ *Config) { m.Weights[1][0].Region = 4 },
		"offset":        func(m *Model, _ *Config) { m.Weights[1][0].Offset = 1 << 62 },
		"threads":       func(m *Model, _ *Config) { m.Bundle.Kernels[0].Threads = 0 },
		"groups":        func(m *Model, _ *Config) { m.Bundle.Kernels[0].Parts = nil },
		"head":          func(m *Model, _ *Config) { m.Bundle.Head = 4 },
		"no dispatches": func(m *Model, _ *Config) { m.Bundle.Decode, m.Bundle.Head = nil, 0 },
		"context":       func(_ *Model, c *Config) { c.Context = 1 << 40 },
		"no context":    func(_ *Model, c *Config) { c.Context = 0 },
		"cache type":    func(_ *Model, c *Config) { c.KV = quant.Q8_0 },
		"frequencies":   func(m *Model, _ *Config) { m.Bundle.RopeFreqs = nil },
		"vocabulary":    func(m *Model, _ *Config) { m.Bundle.Model.VocabSize = 0 },
	} {
		m, cfg := toy()
		bend(m, &cfg)
		if _, _, err := resolve(m, cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestCommandsVariant(t *testing.T) {
	m, cfg := toy()
	m.Weights[0][0].Type = quant.Q6_K
	_, _, err := resolve(m, cfg)
	if v := (*VariantError)(nil); !errors.As(err, &v) || v.Kernel != "k" || strings.Contains(err.Error(), "dispatch") {
		t.Errorf("error %v", err)
	}
}
