package metal

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"mla/runtime/device"
	"mla/runtime/doctor/devicetest"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// mapped returns the toy model in a mapped file.
func mapped() (*device.Model, device.Config) {
	m, cfg := devicetest.Toy()
	m.Regions, m.Mapped = [][]byte{region(len(m.Regions[0]), 0)}, 1
	return m, cfg
}

// TestMapped checks that any number of the regions can be mapped, including none.
func TestMapped(t *testing.T) {
	for count, ok := range map[int]bool{-1: false, 0: true, 1: true, 2: false} {
		m, cfg := mapped()
		m.Mapped = count
		if _, err := newLayout(m, cfg, maxWindow); (err == nil) != ok {
			t.Errorf("%d of %d regions are mapped: error %v", count, len(m.Regions), err)
		}
	}
}

func sequenced(m *device.Model, cfg device.Config) (*sequence, *layout, error) {
	l, err := newLayout(m, cfg, maxWindow)
	if err != nil {
		return nil, nil, err
	}
	s, err := newSequence(m, cfg, l, "")
	return s, l, err
}

func TestSequence(t *testing.T) {
	s, l, err := sequenced(mapped())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.functions, []string{"k_f16", "head", "pick"}) || s.threads[0] != 64 || s.replays[0] != (replayed{1, 0, 1, 3}) || s.picks != (run{3, 4}) || s.needed != 2 || s.bindings != 6 {
		t.Errorf("%+v", s)
	}
	c := s.commands[1]
	if c.function != 0 || c.Groups != 7 || c.Kernel.Threads != 64 || !c.Dispatch.Barrier || s.commands[0].Dispatch.Barrier {
		t.Errorf("%+v", c)
	}
	if c := s.commands[3]; len(s.commands) != 4 || c.function != 2 || c.Bindings[0].Offset != 256 {
		t.Errorf("%+v", s)
	}
	if p := l.places[c.Bindings[0].Weight]; p != (place{0, 2 * pageSize}) {
		t.Errorf("weight at %+v", p)
	}
	if constants := 2 * device.ConstantsAlign; len(l.constants) != constants || l.own() != 1024+devicetest.PickBytes+80+40+4+2*2048+int64(constants)+4+4*(256+16) {
		t.Errorf("%+v: %d bytes", l, l.own())
	}
}

// TestSequenceForClass checks that only devices of a kernel class have its kernels.
func TestSequenceForClass(t *testing.T) {
	m, cfg := mapped()
	devicetest.AddClass(m.Bundle, plan.ClassApple7)
	for class, want := range map[string][]string{"": {"k_f16", "head", "pick"}, plan.ClassApple7: {"k_apple7_f16", "head", "pick"}} {
		l, err := newLayout(m, cfg, maxWindow)
		if err != nil {
			t.Fatal(err)
		}
		s, err := newSequence(m, cfg, l, class)
		if err != nil || !slices.Equal(s.functions, want) || (s.threads[0] == 96) != (class != "") {
			t.Errorf("%q: %+v, %v", class, s, err)
		}
	}
}

func TestSequenceWithoutSampler(t *testing.T) {
	m, cfg := mapped()
	m.Bundle.Pick, m.Bundle.PickBytes = nil, 0
	s, l, err := sequenced(m, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.functions) != 2 || s.needed != 2 || len(s.commands) != 3 || s.picks != (run{3, 3}) || l.Pick != 0 {
		t.Errorf("%+v", s)
	}
}

// TestHostile checks changes of bundle and binding that only Metal forbids. Package device tests the changes
// that every device forbids; one of them is here, too.
func TestHostile(t *testing.T) {
	for name, bend := range map[string]func(*device.Model, *device.Config){
		"cache type": func(_ *device.Model, c *device.Config) { c.KV = quant.Q8_0 },
		"operands":   func(m *device.Model, _ *device.Config) { m.Bundle.Decode().Dispatches[0].Operands = nil },
		"mapped":     func(m *device.Model, _ *device.Config) { m.Mapped = 2 },
		"too many": func(m *device.Model, _ *device.Config) {
			m.Bundle.Decode().Dispatches = slices.Repeat(m.Bundle.Decode().Dispatches[2:], maxCommands)
		},
		"slots": func(m *device.Model, _ *device.Config) {
			b := m.Bundle
			b.Kernels[1].Slots = slices.Repeat(b.Kernels[1].Slots, maxBindings+1)
			b.Decode().Dispatches[2].Operands = slices.Repeat(b.Decode().Dispatches[2].Operands, maxBindings+1)
		},
		"threads": func(m *device.Model, _ *device.Config) {
			m.Bundle.Kernels[2].Variants[0].Func = "head"
			m.Bundle.Kernels[2].Threads = 64
		},
	} {
		m, cfg := mapped()
		bend(m, &cfg)
		if _, _, err := sequenced(m, cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestVariantError(t *testing.T) {
	m, cfg := mapped()
	m.Weights[0][0].Type = quant.Q6_K
	_, _, err := sequenced(m, cfg)
	if v := (*device.VariantError)(nil); !errors.As(err, &v) || v.Kernel != "k" {
		t.Errorf("error %v", err)
	}
}

// TestFits checks that the errors of a model that does not fit have numbers.
func TestFits(t *testing.T) {
	m, cfg := mapped()
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
		{Info{MaxBuffer: 1 << 30, MaxMemory: total - 1}, "sudo sysctl iogpu.wired_limit_mb=513 lets"},
		{Info{MaxBuffer: 2047, MaxMemory: total}, "the KV cache of a layer needs 2048 bytes"},
	} {
		err := l.fits(&tt.gpu)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v", tt.gpu, err)
		}
	}
}
