package replay_test

import (
	"testing"

	"mla/gen"
	"mla/gen/msl/execute"
	"mla/gen/spec"
	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/doctor/reference"
	"mla/runtime/load/bind"
	"mla/runtime/plan"
	"mla/runtime/quant"
	"mla/tools/tests/deep"
)

// TestCrowd checks that up to 32 sessions in one replay each have the logits and tokens that they have alone. The model
// has experts and is compiled for class nvidia. The CPU device runs it, and in the deep tier the printed kernels do.
func TestCrowd(t *testing.T) {
	t.Parallel()
	const stem = root + "testdata/reference/dsv2lite-mini-Q4_K_M"
	s, err := spec.Load(root + "specs/dsv2litemini.yaml")
	if err != nil {
		t.Fatal(err)
	}
	b, err := gen.Compile(s.WithClass(plan.ClassNVIDIA).WithSequences(1, 16, plan.LargestBatch, 40), nil)
	if err != nil {
		t.Fatal(err)
	}
	if b.BatchRows() != plan.LargestBatch {
		t.Fatalf("batches of up to %d rows", b.BatchRows())
	}
	m := bindTo(t, stem+".gguf", []*plan.Bundle{b}, bind.Wish{Act: "f32", Class: plan.ClassNVIDIA})
	devices := []device.Device{cpu.New()}
	if deep.On {
		devices = append(devices, newDevice(t, execute.Fast))
	}
	for _, d := range devices {
		t.Run(d.Name(), func(t *testing.T) {
			if err := reference.Crowd(d, m, device.Config{KV: quant.F32, Threads: 2}, tolerance[quant.F32], 17, 31, 32); err != nil {
				t.Error(err)
			}
		})
	}
}
