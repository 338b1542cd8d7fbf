package metal

import (
	"errors"
	"slices"
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
	s, _, err := sequenced(toySampler())
	if err != nil {
		t.Fatal(err)
	}
	if c := s.commands[3]; s.decode != 3 || s.needed != 2 || len(s.functions) != 3 || len(s.commands) != 4 || c.function != 2 || c.Bindings[0].Offset != 256 {
		t.Errorf("%+v", s)
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
	if len(s.functions) != 2 || s.functions[0] != "k_q8_0_f16" || s.threads[0] != 64 || s.head != 1 || s.needed != 2 || s.bindings != 6 {
		t.Errorf("%+v", s)
	}
	c := s.commands[1]
	if c.function != 0 || c.Groups != 7 || c.Kernel.Threads != 64 || !c.Dispatch.Barrier || s.commands[0].Dispatch.Barrier {
		t.Errorf("%+v", c)
	}
	if p := l.places[c.Bindings[0].Weight]; p != (place{0, 2 * pageSize}) {
		t.Errorf("weight at %+v", p)
	}
	if constants := 2 * device.ConstantsAlign; len(l.constants) != constants || l.own() != 1024+80+40+2*160+int64(constants)+48 {
		t.Errorf("%+v: %d bytes", l, l.own())
	}
}

// TestHostile bends bundle and binding as Metal only forbids it; device has a test of
// what every device forbids, of which there is one case here.
func TestHostile(t *testing.T) {
	for name, bend := range map[string]func(*device.Model, *device.Config){
		"cache type": func(_ *device.Model, c *device.Config) { c.KV = quant.Q8_0 },
		"operands":   func(m *device.Model, _ *device.Config) { m.Bundle.Decode[0].Operands = nil },
		"mapped":     func(m *device.Model, _ *device.Config) { m.Mapped = 2 },
		"too many": func(m *device.Model, _ *device.Config) {
			m.Bundle.Decode = slices.Repeat(m.Bundle.Decode[2:], maxCommands)
		},
		"slots": func(m *device.Model, _ *device.Config) {
			b := m.Bundle
			b.Kernels[1].Slots = slices.Repeat(b.Kernels[1].Slots, maxBindings+1)
			b.Decode[2].Operands = slices.Repeat(b.Decode[2].Operands, maxBindings+1)
		},
		"threads": func(m *device.Model, _ *device.Config) {
			m.Bundle.Kernels[2].Variants[0].Func = "head"
			m.Bundle.Kernels[2].Threads = 64
		},
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
