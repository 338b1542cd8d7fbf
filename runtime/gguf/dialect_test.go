package gguf

import (
	"strings"
	"testing"

	"mla/runtime/gguf/hparams"
)

func dimsOf(layers int) hparams.Dims { return hparams.Dims{NumHiddenLayers: layers} }

// TestDialects checks ollama's name of GLM-4.7-Flash's architecture, in which two keys of widths are swapped.
func TestDialects(t *testing.T) {
	plain, err := ReadHParams(open(t, smallModel().write(t)))
	if err != nil {
		t.Fatal(err)
	}
	ollama := func() *model {
		m := smallModel()
		m.arch = "glm4moelite"
		for _, name := range []string{"key_length", "value_length"} {
			a, b := m.keys["deepseek2.attention."+name], m.keys["deepseek2.attention."+name+"_mla"]
			m.set("attention."+name, b)
			m.set("attention."+name+"_mla", a)
		}
		return m
	}
	if got, err := ReadHParams(open(t, ollama().write(t))); err != nil || got != plain {
		t.Errorf("%+v, %v; want %+v", got, err, plain)
	}
	m := ollama()
	m.set("attention.key_length_mla", Uint32(7))
	_, err = ReadHParams(open(t, m.write(t)))
	wantError(t, err, `key "glm4moelite.attention.key_length_mla" is 7; expected 40`)
}

// TestCounts checks that a key with a number for each layer counts as one number if all are the same.
func TestCounts(t *testing.T) {
	for _, key := range []string{"attention.head_count", "feed_forward_length", "expert_used_count"} {
		want, err := ReadHParams(open(t, smallModel().write(t)))
		if err != nil {
			t.Fatal(err)
		}
		number, err := smallModel().keys["deepseek2."+key].Uint()
		if err != nil {
			t.Fatal(err)
		}
		n := uint32(number)
		if got, err := with(t, key, Uint32s([]uint32{n, n, n})); err != nil || got != want {
			t.Errorf("%s: %v, %+v", key, err, got)
		}
		for _, c := range []struct {
			list Value
			want string
		}{
			{Uint32s([]uint32{n, n}), "has 2 numbers; expected one, or one for each of the 3 layers"},
			{Uint32s(nil), "has 0 numbers"},
			{Uint32s([]uint32{n, n + 1, n}), "which differ; expected the same for all layers"},
			{Int32s([]int32{-1, -1, -1}), "expected non-negative integers"},
			{Float32s([]float32{1, 1, 1}), "array of float32"},
		} {
			_, err := with(t, key, c.list)
			wantError(t, err, "m.gguf", key, c.want)
		}
	}
	_, err := with(t, "block_count", Uint32s([]uint32{3, 3, 3}))
	wantError(t, err, "block_count")
}

// TestRopeScalingKeys checks that empty keys mean no scaling, and that an error names the key that is
// present.
func TestRopeScalingKeys(t *testing.T) {
	plain, err := ReadHParams(open(t, smallModel().write(t)))
	if err != nil {
		t.Fatal(err)
	}
	m := smallModel()
	for key, v := range map[string]Value{"type": String(""), "factor": Float32(0), "original_context_length": Uint32(0), "yarn_log_multiplier": Float32(0)} {
		m.set("rope.scaling."+key, v)
	}
	plain.RopeScaling.Type, plain.RopeScaling.HasLogMultiplier = "none", true
	if got, err := ReadHParams(open(t, m.write(t))); err != nil || got != plain {
		t.Errorf("%+v, %v", got, err)
	}
	m.set("rope.scaling.type", String("yarn"))
	_, err = ReadHParams(open(t, m.write(t)))
	wantError(t, err, "rope.scaling.original_context_length", "is 0")
	_, err = with(t, "rope.scale_linear", Float32(2))
	wantError(t, err, `key "deepseek2.rope.scale_linear" is 2; expected 1`)
	_, err = with(t, "rope.scaling.factor", Float32(4))
	wantError(t, err, `key "deepseek2.rope.scaling.factor" is 4; expected 1`)
	_, err = with(t, "rope.scaling.attn_factor", Float32(1.5))
	wantError(t, err, `attn_factor" is 1.5; expected 1 without YaRN`)
}

// TestStrangers checks that an unknown architecture is recognised by its keys.
func TestStrangers(t *testing.T) {
	m := smallModel()
	m.arch = "novel9"
	_, err := ReadHParams(open(t, m.write(t)))
	wantError(t, err, `"novel9"`, "has multi-head latent attention")
	m.remove("attention.kv_lora_rank")
	_, err = ReadHParams(open(t, m.write(t)))
	wantError(t, err, `"novel9"`, "such as llama")
	m = smallModel()
	delete(m.keys, "general.architecture")
	_, err = ReadHParams(open(t, m.write(t)))
	wantError(t, err, `"general.architecture" is missing`)
	for _, name := range []string{"kimi-k3", "dots3note", "hy_v4", "longcatflash", "glm5next"} {
		if !strings.Contains(uncovered[name], "multi-head latent attention") {
			t.Errorf("%s: %q", name, uncovered[name])
		}
	}
}
