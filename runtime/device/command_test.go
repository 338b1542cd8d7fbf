package device_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"mla/runtime/device"
	"mla/runtime/doctor/devicetest"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

func resolve(m *device.Model, cfg device.Config) (*device.Commands, *device.Layout, error) {
	l, err := m.Layout(cfg)
	if err != nil {
		return nil, nil, err
	}
	c, err := m.Commands(l, cfg, "")
	return c, l, err
}

func TestCommands(t *testing.T) {
	m, cfg := devicetest.Toy()
	c, l, err := resolve(m, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Decode().Commands) != 3 || len(c.Pick) != 1 || c.Pick[0].Bindings[0] != (device.Binding{Space: plan.SpacePick, Offset: 256, Bytes: 64}) {
		t.Errorf("%+v", c)
	}
	want := []device.Binding{
		{Space: plan.SpaceWeight, Weight: &m.Weights[0][1]}, {Space: plan.SpaceKV, Index: 1}, {Space: plan.SpaceArena, Offset: 256, Bytes: 64},
		{Space: plan.SpaceArgs, Offset: device.ConstantsAlign, Bytes: 8}, {Space: plan.SpaceRow}, {Space: plan.SpaceRope},
	}
	second := c.Decode().Commands[1]
	if second.Groups != 7 || second.Variant.Func != "k_f16" || second.Kernel != &m.Bundle.Kernels[0] || second.Dispatch != &m.Bundle.Decode().Dispatches[1] {
		t.Errorf("%+v", second)
	}
	for i := range want {
		if second.Bindings[i] != want[i] {
			t.Errorf("binding %d: %+v; expected %+v", i, second.Bindings[i], want[i])
		}
	}
	constants := make([]byte, 2*device.ConstantsAlign)
	constants[0], constants[device.ConstantsAlign] = 1, 2 // rows
	if !bytes.Equal(c.Constants, constants) {
		t.Errorf("constants %v", c.Constants)
	}
	layout := device.Layout{Width: 1, Batch: plan.DefaultBatch, Arena: 1024, Rope: 80, Logits: 40, Pick: devicetest.PickBytes, Tables: 4, Cache: 64 * 16 * 2, Planes: plan.Planes{16 * 2}, Layers: 2, Pages: 1, MaxPages: 1, Freqs: []float64{1, 0.5}}
	if !reflect.DeepEqual(*l, layout) || l.Bytes() != 1024+80+40+devicetest.PickBytes+4+2*2048 {
		t.Errorf("%+v: %d bytes", l, l.Bytes())
	}
	// With float32 caches, and equal strides, which are shared.
	cfg.KV, m.Weights[0][1].BatchStride = quant.F32, 34
	if c, l, err = resolve(m, cfg); err != nil || l.Cache != 64*16*4 || c.Decode().Commands[0].Variant.Func != "k_f32" || len(c.Constants) != device.ConstantsAlign {
		t.Errorf("%+v, %d bytes of constants, %v", l, len(c.Constants), err)
	}
}

// TestFor checks that rows run in the narrowest sequence that holds them.
func TestFor(t *testing.T) {
	c := device.Commands{Sequences: []device.Recording{{Width: 1}, {Width: 2}, {Width: 4}, {Width: 16}}}
	for rows, want := range map[int]int{1: 0, 2: 1, 3: 2, 4: 2, 5: 3, 16: 3, 17: -1} {
		if got := c.For(rows); got != want {
			t.Errorf("%d rows run in sequence %d; want %d", rows, got, want)
		}
	}
}

// TestHostile checks that changes of the bundle, the binding or the configuration are errors.
func TestHostile(t *testing.T) {
	op := func(m *device.Model, i int) *plan.Operand { return &m.Bundle.Decode().Dispatches[1].Operands[i] }
	for name, bend := range map[string]func(*device.Model, *device.Config){
		"kernel":          func(m *device.Model, _ *device.Config) { m.Bundle.Decode().Dispatches[0].Kernel = 9 },
		"operands":        func(m *device.Model, _ *device.Config) { m.Bundle.Decode().Dispatches[0].Operands = nil },
		"space":           func(m *device.Model, _ *device.Config) { op(m, 4).Space = plan.SpaceRope },
		"foreign space":   func(m *device.Model, _ *device.Config) { op(m, 4).Space, m.Bundle.Kernels[0].Slots[4].Space = 99, 99 },
		"weight row":      func(m *device.Model, _ *device.Config) { op(m, 0).Index = 7 },
		"weight layer":    func(m *device.Model, _ *device.Config) { m.Bundle.Decode().Dispatches[1].Layer = 3 },
		"cache":           func(m *device.Model, _ *device.Config) { op(m, 1).Index = 2 },
		"arena end":       func(m *device.Model, _ *device.Config) { op(m, 2).Offset = 1008 },
		"arena negative":  func(m *device.Model, _ *device.Config) { op(m, 2).Offset = -16 },
		"arena overflow":  func(m *device.Model, _ *device.Config) { op(m, 2).Bytes = 1 << 62 },
		"arena unaligned": func(m *device.Model, _ *device.Config) { op(m, 2).Offset = 4 },
		"arena":           func(m *device.Model, _ *device.Config) { m.Bundle.Decode().ArenaBytes = 0 },
		"sampler's end": func(m *device.Model, _ *device.Config) {
			m.Bundle.Pick[0].Operands[0].Bytes = devicetest.PickBytes - 255
		},
		"sampler at -256": func(m *device.Model, _ *device.Config) { m.Bundle.Pick[0].Operands[0].Offset = -256 },
		"sampler at 4":    func(m *device.Model, _ *device.Config) { m.Bundle.Pick[0].Operands[0].Offset = 4 },
		"no sampler":      func(m *device.Model, _ *device.Config) { m.Bundle.PickBytes = 0 },
		"sampler":         func(m *device.Model, _ *device.Config) { m.Bundle.PickBytes = -1 },
		"counters":        func(m *device.Model, _ *device.Config) { m.Bundle.Counters = -1 },
		"counters' end": func(m *device.Model, _ *device.Config) {
			op(m, 4).Space, op(m, 4).Bytes, m.Bundle.Kernels[0].Slots[4].Space, m.Bundle.Counters = plan.SpaceCounters, 257, plan.SpaceCounters, 256
		},
		"no counters": func(m *device.Model, _ *device.Config) {
			op(m, 4).Space, op(m, 4).Bytes, m.Bundle.Kernels[0].Slots[4].Space = plan.SpaceCounters, 4, plan.SpaceCounters
		},
		"args":          func(m *device.Model, _ *device.Config) { m.Bundle.Kernels[0].Args[0] = 2 },
		"stride":        func(m *device.Model, _ *device.Config) { m.Weights[0][1].BatchStride = -34 },
		"half a row":    func(m *device.Model, _ *device.Config) { m.Weights[0][1].BatchStride = 17 },
		"no matrix":     func(m *device.Model, _ *device.Config) { m.Bundle.Kernels[0].Parts = []plan.Part{devicetest.Groups(7)} },
		"region":        func(m *device.Model, _ *device.Config) { m.Weights[1][0].Region = 4 },
		"offset":        func(m *device.Model, _ *device.Config) { m.Weights[1][0].Offset = 1 << 62 },
		"threads":       func(m *device.Model, _ *device.Config) { m.Bundle.Kernels[0].Threads = 0 },
		"groups":        func(m *device.Model, _ *device.Config) { m.Bundle.Kernels[0].Parts = nil },
		"head":          func(m *device.Model, _ *device.Config) { m.Bundle.Decode().Head = 4 },
		"no dispatches": func(m *device.Model, _ *device.Config) { m.Bundle.Decode().Dispatches, m.Bundle.Decode().Head = nil, 0 },
		"context":       func(_ *device.Model, c *device.Config) { c.Context = 1 << 40 },
		"no context":    func(_ *device.Model, c *device.Config) { c.Context = 0 },
		"cache type":    func(_ *device.Model, c *device.Config) { c.KV = quant.Q8_0 },
		"frequencies":   func(m *device.Model, _ *device.Config) { m.Bundle.RopeFreqs = nil },
		"vocabulary":    func(m *device.Model, _ *device.Config) { m.Bundle.Model.VocabSize = 0 },
	} {
		m, cfg := devicetest.Toy()
		bend(m, &cfg)
		if _, _, err := resolve(m, cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestCommandsVariant(t *testing.T) {
	m, cfg := devicetest.Toy()
	m.Weights[0][0].Type = quant.Q6_K
	_, _, err := resolve(m, cfg)
	if v := (*device.VariantError)(nil); !errors.As(err, &v) || v.Kernel != "k" || strings.Contains(err.Error(), "dispatch") {
		t.Errorf("error %v", err)
	}
}

// TestCommandsForClass checks that a kernel class has its own kernel, which the dispatch does not name, with
// the variant of the same types.
func TestCommandsForClass(t *testing.T) {
	m, cfg := devicetest.Toy()
	devicetest.AddClass(m.Bundle, plan.ClassApple7)
	for class, want := range map[string]string{"": "k_f16", plan.ClassApple7: "k_apple7_f16", plan.ClassNVIDIA: "k_f16"} {
		l, err := m.Layout(cfg)
		if err != nil {
			t.Fatal(err)
		}
		c, err := m.Commands(l, cfg, class)
		if err != nil {
			t.Fatal(err)
		}
		v, err := m.VariantFor(&m.Bundle.Decode().Dispatches[1], cfg.KV, class)
		if got := c.Decode().Commands[1]; err != nil || got.Variant.Func != want || v != got.Variant || got.Kernel.Threads != 96 && class == plan.ClassApple7 || c.Decode().Commands[2].Variant.Func != "head" {
			t.Errorf("%q: %+v, %v", class, got, err)
		}
	}
}
