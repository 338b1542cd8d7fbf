//go:build deep

package main

import (
	"path/filepath"
	"testing"

	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/doctor/reference"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// TestWideDown checks that the input of the experts' down projection stays float32 for mistral4 with f16
// activations, because it can exceed the range of half.
func TestWideDown(t *testing.T) {
	const file = "mistral4-mini-Q4_K_M"
	m := compileFor(t, filepath.Join(models, file+".gguf"), "f16")
	wide := 0
	for i := range m.Bundle.Kernels {
		k := &m.Bundle.Kernels[i]
		for _, p := range k.Parts {
			if p, ok := p.(*plan.ExpertsSum); ok && k.Slots[p.In.Slot].Elem == plan.ElemF32 {
				wide++
			}
		}
	}
	if wide == 0 {
		t.Error("no kernel adds up experts from float32")
	}
	ref, err := reference.ReadPath(filepath.Join(models, file))
	if err != nil {
		t.Fatal(err)
	}
	// Activations that are halves move logits by some thousandths of their size.
	for _, d := range []device.Device{cpu.New(), newExecutor(t)} {
		compareModel(t, d, m, device.Config{Context: 6, KV: quant.F32}, ref, 6, 0.1)
	}
}
