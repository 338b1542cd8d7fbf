package main

import (
	"encoding/binary"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"mla/gen/initspec"
	"mla/runtime/gguf"
	"mla/runtime/quant"
)

// editedModel is a further model's file, changed.
func editedModel(t *testing.T, name string, edit func(m *modelFile)) string {
	t.Helper()
	m := loadModel(t, filepath.Join(models, name+".gguf"))
	edit(m)
	return m.write(t)
}

// put replaces a key or adds one.
func (m *modelFile) put(key string, v gguf.Value) {
	for i := range m.meta {
		if m.meta[i].Key == key {
			m.meta[i].Value = v
			return
		}
	}
	m.meta = append(m.meta, gguf.KV{Key: key, Value: v})
}

// TestOtherModels: changes that say that the model computes something else are never
// run as if they were not there.
func TestOtherModels(t *testing.T) {
	factors := make([]byte, 4*16)
	for i := range 16 {
		binary.LittleEndian.PutUint32(factors[4*i:], math.Float32bits(1))
	}
	for want, c := range map[string]struct {
		file string
		edit func(m *modelFile)
	}{
		`key "deepseek2.attention.temperature_length" is 0 or missing`: {"mistrallarge3-mini-Q4_K_M", func(m *modelFile) { m.drop("attention.temperature_length") }},
		`key "deepseek2.final_logit_softcapping" is 30`:                {"gigachat3-mini-Q4_0", func(m *modelFile) { m.put("deepseek2.final_logit_softcapping", gguf.Float32(30)) }},
		`key "mistral4.attention.indexer.top_k" is 2048`:               {"mistral4-mini-Q4_K_M", func(m *modelFile) { m.put("mistral4.attention.indexer.top_k", gguf.Uint32(2048)) }},
		`key "plm.attention.temperature_scale" is 0.1`:                 {"plm-mini-Q4_K_M", func(m *modelFile) { m.put("plm.attention.temperature_scale", gguf.Float32(0.1)) }},
		`tensor "rope_factors_long.weight" is no weight`:               {"plm-mini-Q4_K_M", func(m *modelFile) { m.add("rope_factors_long.weight", quant.F32, []uint64{16}, factors) }},
		`key "general.architecture" is "glm-dsa"`:                      {"gigachat3-mini-Q4_0", func(m *modelFile) { m.put("general.architecture", gguf.String("glm-dsa")) }},
		`key "minicpm3.rope.scaling.factor" is 4; expected 1`:          {"minicpm3-mini-Q4_0", func(m *modelFile) { m.put("minicpm3.rope.scaling.factor", gguf.Float32(4)) }},
		`key "minicpm3.rope.scaling.attn_factor" is 1.19`:              {"minicpm3-mini-Q4_0", func(m *modelFile) { m.put("minicpm3.rope.scaling.attn_factor", gguf.Float32(1.19)) }},
	} {
		f, err := gguf.Open(editedModel(t, c.file, c.edit))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := initspec.Generate(f, "model.yaml"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v; want %s", err, want)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
