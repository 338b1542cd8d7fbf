package gguf

import (
	"mla/runtime/gguf/hparams"
	"path/filepath"
	"testing"
)

// TestModels reads the headers of small files of other architectures and kinds.
func TestModels(t *testing.T) {
	plain := func(original int) RopeScaling {
		return RopeScaling{Type: "linear", Factor: 1, OriginalContext: original, AttnFactor: 1}
	}
	for name, want := range map[string]HParams{
		"minicpm3-mini-Q4_0": {
			Architecture: "minicpm3",
			// VHeadDim is 320 / 5: there is no key.
			Dims: hparams.Dims{VocabSize: 512, HiddenSize: 320, NumHiddenLayers: 3, NumAttentionHeads: 5, QLoraRank: 128,
				KVLoraRank: 128, QKNopeHeadDim: 64, QKRopeHeadDim: 32, VHeadDim: 64, IntermediateSize: 256,
				RMSNormEps: eps(1e-5), MaxPositionEmbeddings: 4096, TieWordEmbeddings: true},
			MoE:            hparams.MoE{FirstKDenseReplace: 3},
			RopeTheta:      10000,
			RopeScaling:    plain(256),
			LegacyKVB:      true,
			TokenizerModel: "llama",
			TokenizerPre:   "default",
		},
		"plm-mini-Q4_K_M": {
			Architecture: "plm",
			Dims: hparams.Dims{VocabSize: 512, HiddenSize: 256, NumHiddenLayers: 2, NumAttentionHeads: 4, KVLoraRank: 256,
				QKNopeHeadDim: 64, QKRopeHeadDim: 32, VHeadDim: 64, IntermediateSize: 768, RMSNormEps: eps(1e-6),
				MaxPositionEmbeddings: 4096, TieWordEmbeddings: true},
			MoE:            hparams.MoE{FirstKDenseReplace: 2},
			RopeTheta:      100000,
			RopeScaling:    plain(4096),
			LegacyKVB:      true,
			TokenizerModel: "gpt2",
			TokenizerPre:   "qwen2",
		},
		"mistral4-mini-Q4_K_M": {
			Architecture: "mistral4",
			Dims: hparams.Dims{VocabSize: 512, HiddenSize: 256, NumHiddenLayers: 2, NumAttentionHeads: 2, QLoraRank: 256,
				KVLoraRank: 256, QKNopeHeadDim: 64, QKRopeHeadDim: 64, VHeadDim: 128, IntermediateSize: 768,
				RMSNormEps: eps(1e-6), MaxPositionEmbeddings: 1048576},
			MoE: hparams.MoE{NRoutedExperts: 8, NSharedExperts: 1, NumExpertsPerTok: 4, MoEIntermediateSize: 64, ScoringFunc: "softmax",
				NormTopKProb: true, RoutedScalingFactor: 1, NGroup: 1, TopKGroup: 1},
			RopeTheta:      10000,
			RopeScaling:    RopeScaling{Type: "yarn", Factor: 128, OriginalContext: 512, AttnFactor: 1, LogMultiplier: eps(0.1), HasLogMultiplier: true},
			FusedGateUp:    true,
			TokenizerModel: "gpt2",
			TokenizerPre:   "tekken",
		},
	} {
		got, err := ReadHParams(open(t, filepath.Join("../../testdata/models", name+".gguf")))
		if err != nil || got != want {
			t.Errorf("%s: %v\n got %+v\nwant %+v", name, err, got, want)
		}
	}
}

// of is the small model under another architecture's name.
func of(architecture string, change func(m *model)) *model {
	m := smallModel()
	m.arch = architecture
	m.remove("attention.key_length_mla", "attention.value_length_mla")
	m.tensors = append(m.tensors, "blk.0.attn_kv_b.weight")
	if change != nil {
		change(m)
	}
	return m
}

func TestDenseArchitectures(t *testing.T) {
	for _, c := range []struct {
		name string
		m    *model
		ok   func(h HParams) bool
	}{
		{"no experts, whatever the keys", of("plm", nil), func(h HParams) bool { return h.FirstKDenseReplace == 3 && h.NRoutedExperts == 0 }},
		{"no low-rank query, whatever the key", of("plm", nil), func(h HParams) bool { return h.QLoraRank == 0 }},
		{"a head of the table", of("plm", nil), func(h HParams) bool { return h.TieWordEmbeddings }},
		{"a head of its own", of("minicpm3", nil), func(h HParams) bool { return !h.TieWordEmbeddings }},
		{"26 layers", of("minicpm3", func(m *model) { m.set("block_count", Uint32(26)) }), func(h HParams) bool { return h.QLoraRank == 12 }},
		{"widths of a head", of("minicpm3", nil), func(h HParams) bool { return h.QKNopeHeadDim == 32 && h.VHeadDim == 32 && h.LegacyKVB }},
		{"no width of values", of("minicpm3", func(m *model) { m.remove("attention.value_length") }), func(h HParams) bool { return h.VHeadDim == hiddenSize/2 }},
		{"longrope", of("minicpm3", func(m *model) { m.set("rope.scaling.type", String("longrope")) }), func(h HParams) bool { return h.RopeScaling == noScaling(4096) }},
	} {
		h, err := ReadHParams(open(t, c.m.write(t)))
		if err != nil || !c.ok(h) {
			t.Errorf("%s: %v, %+v", c.name, err, h)
		}
	}
	for _, c := range []struct {
		m    *model
		want []string
	}{
		{of("minicpm3", func(m *model) { m.remove("attention.q_lora_rank") }), []string{"minicpm3.attention.q_lora_rank", "missing"}},
		{of("plm", func(m *model) { m.tensors = nil }), []string{"blk.0.attn_kv_b.weight", "missing"}},
		{of("plm", func(m *model) { m.set("rope.scaling.type", String("yarn")) }), []string{"plm.rope.scaling.type", "yarn", `"linear"`}},
		{of("plm", func(m *model) { m.set("rope.scaling.type", String("longrope")) }), []string{"plm.rope.scaling.type", "longrope"}},
		{of("plm", func(m *model) {
			m.set("attention.temperature_scale", Float32(0.1))
			m.set("attention.temperature_length", Uint32(8))
		}), []string{"plm.attention.temperature_scale", "expected 0", "plm"}},
	} {
		_, err := ReadHParams(open(t, c.m.write(t)))
		wantError(t, err, append(c.want, "m.gguf")...)
	}
}
