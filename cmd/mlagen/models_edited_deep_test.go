//go:build deep

package main

import (
	"path/filepath"
	"testing"

	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/doctor/reference"
	"mla/runtime/gguf"
	"mla/runtime/quant"
)

// TestSameModels: changes of a file that llama.cpp makes nothing of leave the logits as
// they are.
func TestSameModels(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		edit func(m *modelFile)
	}{
		"PLM's head is never read": {"plm-mini-Q4_K_M", func(m *modelFile) { m.add("output.weight", quant.F32, []uint64{256, 512}, make([]byte, 4*256*512)) }},
		"the defaults of MiniCPM3": {"minicpm3-mini-Q4_0", func(m *modelFile) {
			m.put("minicpm3.rope.freq_base", gguf.Float32(10000))
			m.put("minicpm3.attention.value_length", gguf.Uint32(64))
			m.put("minicpm3.rope.scaling.type", gguf.String("longrope"))
		}},
		"no long factors, and a short context": {"minicpm3-mini-Q4_0", func(m *modelFile) { m.remove("rope_factors_long.weight") }},
		"a head that is the table": {"minicpm3-mini-Q4_0", func(m *modelFile) {
			x, data := m.remove("token_embd.weight")
			m.add(x.Name, x.Type, x.Dims, data)
			m.add("output.weight", x.Type, x.Dims, data)
		}},
		"no scale, no temperature": {"mistral4-mini-Q4_K_M", func(m *modelFile) {
			m.put("mistral4.attention.temperature_scale", gguf.Float32(0))
			m.put("mistral4.attention.temperature_length", gguf.Uint32(4))
		}},
		"a temperature from a position on that is never reached": {"mistral4-mini-Q4_K_M", func(m *modelFile) {
			m.put("mistral4.attention.temperature_scale", gguf.Float32(0.1))
			m.put("mistral4.attention.temperature_length", gguf.Uint32(8192))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			ref, err := reference.ReadPath(filepath.Join(models, c.file))
			if err != nil {
				t.Fatal(err)
			}
			m := compileFor(t, editedModel(t, c.file, c.edit), "f32")
			compareModel(t, cpu.New(), m, device.Config{Context: 24, KV: quant.F32}, ref, len(ref.Prompt), 1e-3)
		})
	}
}
