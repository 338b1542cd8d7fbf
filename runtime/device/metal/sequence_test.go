package metal

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"mla/runtime/device"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// part is a part of n threadgroups.
type part int

func (p part) Groups() int { return int(p) }

// toy is a model of two dispatches over every space.
func toy() (*device.Model, device.Config) {
	b := &plan.Bundle{
		Name: "toy", ArenaBytes: 1024, RopeFreqs: []float64{1, 0.5}, RopeMScale: 1, Head: 1,
		Model: plan.Model{VocabSize: 10, NumHiddenLayers: 2, KVLoraRank: 12, QKRopeHeadDim: 4},
		Weights: []plan.Weight{
			{Role: "a", First: 0, Last: 2}, {Role: "b", First: -1},
		},
		Kernels: []plan.Kernel{
			{Name: "k", Threads: 64, Parts: []plan.Part{part(3), part(4)}, Args: []int{0},
				Slots: []plan.Slot{
					{Name: "w", Elem: plan.ElemTyped}, {Name: "cache", Space: plan.SpaceKV, Elem: plan.ElemTyped},
					{Name: "x", Space: plan.SpaceArena}, {Name: "args", Space: plan.SpaceArgs, Elem: plan.ElemArgs},
					{Name: "step", Space: plan.SpaceStep, Elem: plan.ElemStep}, {Name: "rope", Space: plan.SpaceRope},
				},
				Variants: []plan.Variant{{Func: "k_q8_0_f16", Types: []quant.Type{quant.Q8_0, quant.F16}}, {Func: "k_q8_0_f32", Types: []quant.Type{quant.Q8_0, quant.F32}}}},
			{Name: "head", Threads: 32, Parts: []plan.Part{part(1)}, Slots: []plan.Slot{{Name: "out", Space: plan.SpaceLogits, Write: true}},
				Variants: []plan.Variant{{Func: "head"}}},
		},
	}
	layer := func(l int, barrier bool) plan.Dispatch {
		return plan.Dispatch{Layer: l, Barrier: barrier, Operands: []plan.Operand{
			{}, {Space: plan.SpaceKV, Index: l}, {Space: plan.SpaceArena, Offset: 256, Bytes: 64}, {Space: plan.SpaceArgs},
			{Space: plan.SpaceStep}, {Space: plan.SpaceRope}}}
	}
	b.Decode = []plan.Dispatch{layer(0, false), layer(1, true), {Kernel: 1, Layer: -1, Operands: []plan.Operand{{Space: plan.SpaceLogits}}}}
	m := &device.Model{Bundle: b, Regions: [][]byte{region(3*pageSize, 0)}, Mapped: 1}
	w := func(offset, stride int64) device.Weight {
		return device.Weight{Tensor: "t", Type: quant.Q8_0, Offset: offset, Bytes: 340, BatchStride: stride}
	}
	m.Weights = [][]device.Weight{{w(64, 34), w(2*pageSize, 68)}, {w(512, 0)}}
	return m, device.Config{Context: 5, KV: quant.F16}
}

// toySampler is toy with a dispatch that picks a token.
func toySampler() (*device.Model, device.Config) {
	m, cfg := toy()
	b := m.Bundle
	b.SampleBytes = 1024
	b.Kernels = append(b.Kernels, plan.Kernel{Name: "pick", Threads: 32, Parts: []plan.Part{part(1)}, Variants: []plan.Variant{{Func: "pick"}},
		Slots: []plan.Slot{{Name: "state", Space: plan.SpaceSample, Elem: plan.ElemSampling, Write: true}}})
	b.Sample = []plan.Dispatch{{Kernel: 2, Layer: -1, Barrier: true, Operands: []plan.Operand{{Space: plan.SpaceSample, Offset: 256, Bytes: 64}}}}
	return m, cfg
}

func TestSampleSequence(t *testing.T) {
	s, l, err := sequenced(toySampler())
	if err != nil {
		t.Fatal(err)
	}
	c := s.commands[3]
	if s.decode != 3 || s.needed != 2 || len(s.functions) != 3 || len(s.commands) != 4 || !c.barrier || c.bindings[0] != (binding{buffer{plan.SpaceSample, 0}, 256}) || l.sample != 1024 {
		t.Errorf("%+v, %+v", s, l)
	}
}

func sequenced(m *device.Model, cfg device.Config) (*sequence, *layout, error) {
	l, err := newLayout(m, cfg, maxWindow)
	if err != nil {
		return nil, nil, err
	}
	s, err := newSequence(m, cfg, l)
	return s, l, err
}

func TestSequence(t *testing.T) {
	s, l, err := sequenced(toy())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.functions) != 2 || s.functions[0] != "k_q8_0_f16" || s.head != 1 || s.bindings != 6 {
		t.Errorf("%+v", s)
	}
	want := []binding{
		{buffer{plan.SpaceWeight, 0}, 2 * pageSize}, {buffer{plan.SpaceKV, 1}, 0}, {buffer{plan.SpaceArena, 0}, 256},
		{buffer{plan.SpaceArgs, 0}, 256}, {buffer{plan.SpaceStep, 0}, 0}, {buffer{plan.SpaceRope, 0}, 0},
	}
	c := s.commands[1]
	if c.groups != 7 || c.threads != 64 || !c.barrier || s.commands[0].barrier {
		t.Errorf("%+v", c)
	}
	for i := range want {
		if c.bindings[i] != want[i] {
			t.Errorf("binding %d: %+v; expected %+v", i, c.bindings[i], want[i])
		}
	}
	args := make([]byte, 2*argsAlign)
	args[0], args[argsAlign] = 34, 68
	if !bytes.Equal(l.args, args) {
		t.Errorf("constants %v", l.args)
	}
	if l.cache != 5*16*2 || l.rope != 5*4*4 || l.logits != 40 || l.own() != 1024+80+40+2*160+512+48 {
		t.Errorf("%+v: %d bytes", l, l.own())
	}
}

// TestEqualConstantsAreShared gives both layers the same stride.
func TestEqualConstantsAreShared(t *testing.T) {
	m, cfg := toy()
	m.Weights[0][1].BatchStride = 34
	if _, l, err := sequenced(m, cfg); err != nil || len(l.args) != argsAlign {
		t.Errorf("%d bytes, %v", len(l.args), err)
	}
}

// TestHostile bends bundle, binding and configuration, and wants an error.
func TestHostile(t *testing.T) {
	op := func(m *device.Model, i int) *plan.Operand { return &m.Bundle.Decode[1].Operands[i] }
	for name, bend := range map[string]func(*device.Model, *device.Config){
		"kernel":          func(m *device.Model, _ *device.Config) { m.Bundle.Decode[0].Kernel = 9 },
		"operands":        func(m *device.Model, _ *device.Config) { m.Bundle.Decode[0].Operands = nil },
		"space":           func(m *device.Model, _ *device.Config) { op(m, 4).Space = plan.SpaceRope },
		"foreign space":   func(m *device.Model, _ *device.Config) { op(m, 4).Space, m.Bundle.Kernels[0].Slots[4].Space = 99, 99 },
		"weight row":      func(m *device.Model, _ *device.Config) { op(m, 0).Index = 7 },
		"weight layer":    func(m *device.Model, _ *device.Config) { m.Bundle.Decode[1].Layer = 3 },
		"cache":           func(m *device.Model, _ *device.Config) { op(m, 1).Index = 2 },
		"arena end":       func(m *device.Model, _ *device.Config) { op(m, 2).Offset = 1008 },
		"arena negative":  func(m *device.Model, _ *device.Config) { op(m, 2).Offset = -16 },
		"arena overflow":  func(m *device.Model, _ *device.Config) { op(m, 2).Bytes = 1 << 62 },
		"arena unaligned": func(m *device.Model, _ *device.Config) { op(m, 2).Offset = 4 },
		"arena":           func(m *device.Model, _ *device.Config) { m.Bundle.ArenaBytes = 0 },
		"args":            func(m *device.Model, _ *device.Config) { m.Bundle.Kernels[0].Args[0] = 2 },
		"stride":          func(m *device.Model, _ *device.Config) { m.Weights[0][1].BatchStride = -1 },
		"region":          func(m *device.Model, _ *device.Config) { m.Weights[1][0].Region = 4 },
		"offset":          func(m *device.Model, _ *device.Config) { m.Weights[1][0].Offset = 1 << 62 },
		"mapped":          func(m *device.Model, _ *device.Config) { m.Mapped = 2 },
		"threads":         func(m *device.Model, _ *device.Config) { m.Bundle.Kernels[0].Threads = 0 },
		"groups":          func(m *device.Model, _ *device.Config) { m.Bundle.Kernels[0].Parts = nil },
		"head":            func(m *device.Model, _ *device.Config) { m.Bundle.Head = 4 },
		"no dispatches":   func(m *device.Model, _ *device.Config) { m.Bundle.Decode, m.Bundle.Head = nil, 0 },
		"too many":        func(m *device.Model, _ *device.Config) { m.Bundle.Decode = make([]plan.Dispatch, maxCommands+1) },
		"slots":           func(m *device.Model, _ *device.Config) { m.Bundle.Kernels[0].Slots = make([]plan.Slot, 32) },
		"context":         func(_ *device.Model, c *device.Config) { c.Context = 1 << 40 },
		"no context":      func(_ *device.Model, c *device.Config) { c.Context = 0 },
		"cache type":      func(_ *device.Model, c *device.Config) { c.KV = quant.Q8_0 },
		"frequencies":     func(m *device.Model, _ *device.Config) { m.Bundle.RopeFreqs = nil },
		"vocabulary":      func(m *device.Model, _ *device.Config) { m.Bundle.Model.VocabSize = 0 },
		"sampler's end":   func(m *device.Model, _ *device.Config) { m.Bundle.Sample[0].Operands[0].Bytes = 1024 },
		"sampler at -256": func(m *device.Model, _ *device.Config) { m.Bundle.Sample[0].Operands[0].Offset = -256 },
		"sampler at 4":    func(m *device.Model, _ *device.Config) { m.Bundle.Sample[0].Operands[0].Offset = 4 },
		"no sampler":      func(m *device.Model, _ *device.Config) { m.Bundle.SampleBytes = 0 },
		"sampler of -1":   func(m *device.Model, _ *device.Config) { m.Bundle.SampleBytes = -1 },
	} {
		m, cfg := toySampler()
		bend(m, &cfg)
		if _, _, err := sequenced(m, cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestVariantError(t *testing.T) {
	m, cfg := toy()
	m.Weights[0][0].Type = quant.Q6_K
	_, _, err := sequenced(m, cfg)
	if v := (*device.VariantError)(nil); !errors.As(err, &v) || v.Kernel != "k" {
		t.Errorf("error %v", err)
	}
}

// TestFits refuses with numbers.
func TestFits(t *testing.T) {
	m, cfg := toy()
	_, l, err := sequenced(m, cfg)
	if err != nil {
		t.Fatal(err)
	}
	total := uint64(l.own()) + 3*pageSize
	for _, tt := range []struct {
		gpu  Info
		want string
	}{
		{Info{MaxBuffer: 1 << 30, MaxMemory: total}, ""},
		{Info{MaxBuffer: 1 << 30, MaxMemory: total - 1}, "recommends at most"},
		{Info{MaxBuffer: 1023, MaxMemory: total}, "the arena needs 1024 bytes"},
	} {
		err := l.fits(&tt.gpu)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v", tt.gpu, err)
		}
	}
}
