//go:build deep

package replay_test

import (
	"fmt"
	"testing"

	"mla/gen"
	"mla/gen/msl/execute"
	"mla/gen/spec"
	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/load/bind"
	"mla/runtime/plan"
	"mla/runtime/quant"
	"mla/sim/replay"
)

// TestBatches: the kernels of several rows have the reference logits whatever rows run
// together, with dead rows after them. The tolerance is that of one row. Few rows at a
// time take many replays, and run without checks: the same kernels have the same memory as
// those of many rows, the last of which has dead ones too.
func TestBatches(t *testing.T) {
	t.Parallel()
	checked, fast := newDevice(t, execute.Checked), newDevice(t, execute.Fast)
	for _, name := range []string{"youtu-tiny-F32", "glm47-tiny-Q4_0", "glm47-mini-Q4_K_M", "dsv2lite-mini-Q4_K_M", "youtu-mini-Q4_0"} {
		stem := root + "testdata/reference/" + name
		ref, m := read(t, stem), bindFile(t, stem+".gguf", "f32")
		devices := map[int]*replay.Device{3: fast, 16: checked}
		if m.Bundle.Width() > 16 { // youtu-mini alone
			devices = map[int]*replay.Device{24: checked}
		}
		for width, d := range devices {
			t.Run(fmt.Sprintf("%s/%d", name, width), func(t *testing.T) {
				worst, err := ref.Batches(d, m, device.Config{KV: quant.F32}, width)
				if err != nil || !(worst <= 1e-3) {
					t.Errorf("logits are off by %g, %v", worst, err)
				}
			})
		}
	}
}

// TestPrompts: sequences of more rows than a batch have the reference logits too, by the
// printed kernels and by the Go references, with dead rows and without.
func TestPrompts(t *testing.T) {
	t.Parallel()
	const width = plan.DefaultBatch + 24
	sim := newDevice(t, execute.Checked)
	for _, c := range []struct {
		spec, name string
		expands    int // from that number of rows on; 0: by the heads' sizes
		class      string
	}{{"glm47tiny", "glm47-tiny-Q4_0", 0, ""}, {"dsv2litemini", "dsv2lite-mini-Q4_K_M", 0, ""}, {"glm47tiny", "glm47-tiny-Q4_0", 17, ""},
		{"dsv2litemini", "dsv2lite-mini-Q4_K_M", 0, plan.ClassApple}, {"glm47tiny", "glm47-tiny-Q4_0", 17, plan.ClassApple}} {
		stem, name := root+"testdata/reference/"+c.name, fmt.Sprintf("%s/%d%s", c.name, c.expands, c.class)
		ref, m := read(t, stem), bindTo(t, stem+".gguf", []*plan.Bundle{compile(t, c.spec, c.class, c.expands, 1, width)}, bind.Wish{Act: "f32"})
		for _, run := range []struct {
			on   device.Device
			rows int
		}{{cpu.New(), width}, {cpu.New(), width - 7}, {sim, width - 7}} {
			t.Run(fmt.Sprintf("%s/%s/%d", name, run.on.Name(), run.rows), func(t *testing.T) {
				worst, err := ref.Batches(run.on, m, device.Config{KV: quant.F32, Threads: 2}, run.rows)
				if err != nil || !(worst <= 1e-3) {
					t.Errorf("logits are off by %g, %v", worst, err)
				}
			})
		}
	}
}

// compile makes the bundle of a spec that ships for a class, with sequences of other widths, which expand
// heads from a given number of rows on.
func compile(t *testing.T, name, class string, expands int, widths ...int) *plan.Bundle {
	t.Helper()
	s, err := spec.Load(root + "specs/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	s = s.WithClass(class)
	tuning := s.Tuning
	tuning.AttendHeads.From = expands
	if s, err = s.WithTuning(tuning); err != nil {
		t.Fatal(err)
	}
	b, err := gen.Compile(s.WithSequences(widths...), nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
