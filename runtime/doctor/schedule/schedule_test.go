package schedule

import (
	"context"
	"math"
	"slices"
	"testing"

	"mla/generated"
	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/engine"
	"mla/runtime/engine/opening"
	"mla/runtime/plan"
	"mla/runtime/quant"
	"mla/runtime/text/sample"
)

// TestScheduleDiffers: runs of other seeds, or of another number of steps, differ, and a bit
// of a logit shows.
func TestScheduleDiffers(t *testing.T) {
	e, err := opening.On("../../../testdata/tinyglm.gguf", generated.Bundles(), "", cpu.New())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	run := func(seed uint64, steps int) *Run {
		m, err := e.Load(device.Config{Context: 128, Tables: Requests, Pages: 4 * plan.Pages(128), KV: quant.F16, Threads: 2})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		r := New(m, e.Bundle().Model.VocabSize, seed)
		if err := r.Do(context.Background(), steps, func(int) {}); err != nil {
			t.Fatal(err)
		}
		if s := m.Pages(); s.InUse != 0 {
			t.Errorf("%+v: pages are left in use", s)
		}
		return r
	}
	a, b, short, other := run(1, 60), run(1, 60), run(1, 50), run(2, 60)
	if at := a.Differs(b); at != -1 {
		t.Errorf("the same schedule differs from step %d on", at)
	}
	if at := a.Differs(short); at != 50 {
		t.Errorf("differs at %d from one of 50 steps", at)
	}
	if at := a.Differs(other); at < 0 || at > 20 {
		t.Errorf("differs at %d from one with another seed", at)
	}
	sampler, err := sample.New(sample.Off())
	if err != nil {
		t.Fatal(err)
	}
	logits := []float32{1, 2, 3}
	first, second := &watched{Sampler: sampler}, &watched{Sampler: sampler}
	first.Next(logits)
	changed := slices.Clone(logits)
	changed[1] = math.Nextafter32(2, 3)
	second.Next(changed)
	if first.sum == second.sum {
		t.Error("a bit of a logit is not seen")
	}
	if _, portable := any(first).(engine.Portable); portable {
		t.Error("a device would pick in the place of the sampler")
	}
}
