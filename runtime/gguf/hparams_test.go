package gguf

import (
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mla/runtime/gguf/hparams"
	"mla/runtime/quant"
)

// eps rounds as the files do, which store float32.
func eps(x float32) float64 { return float64(x) }

func noScaling(context int) RopeScaling {
	return RopeScaling{Type: "linear", Factor: 1, OriginalContext: context, AttnFactor: 1}
}

func TestReferenceHParams(t *testing.T) {
	youtuMini := HParams{
		Dims: hparams.Dims{VocabSize: 512, HiddenSize: 256, NumHiddenLayers: 4, NumAttentionHeads: 4, QLoraRank: 256,
			KVLoraRank: 256, QKNopeHeadDim: 64, QKRopeHeadDim: 32, VHeadDim: 64, IntermediateSize: 768,
			RMSNormEps: eps(1e-6), MaxPositionEmbeddings: 131072, TieWordEmbeddings: true},
		MoE:            hparams.MoE{FirstKDenseReplace: 4},
		RopeTheta:      1600000,
		RopeScaling:    noScaling(131072),
		TokenizerModel: "gpt2",
		TokenizerPre:   "youtu",
	}
	youtuTiny := HParams{
		Dims: hparams.Dims{VocabSize: 384, HiddenSize: 96, NumHiddenLayers: 3, NumAttentionHeads: 3, QLoraRank: 64,
			KVLoraRank: 64, QKNopeHeadDim: 32, QKRopeHeadDim: 16, VHeadDim: 32, IntermediateSize: 160,
			RMSNormEps: eps(1e-6), MaxPositionEmbeddings: 131072, TieWordEmbeddings: true},
		MoE:            hparams.MoE{FirstKDenseReplace: 3},
		RopeTheta:      1600000,
		RopeScaling:    noScaling(131072),
		TokenizerModel: "gpt2",
		TokenizerPre:   "youtu",
	}
	legacy := youtuTiny
	legacy.LegacyKVB = true
	tests := map[string]HParams{
		"youtu-mini-Q4_0":          youtuMini,
		"youtu-mini-Q4_K_M":        youtuMini,
		"youtu-tiny-F32":           youtuTiny,
		"youtu-tiny-legacykvb-F32": legacy,
		"dsv2lite-mini-Q4_K_M": {
			Dims: hparams.Dims{VocabSize: 512, HiddenSize: 256, NumHiddenLayers: 4, NumAttentionHeads: 4, KVLoraRank: 256,
				QKNopeHeadDim: 64, QKRopeHeadDim: 32, VHeadDim: 64, IntermediateSize: 608, RMSNormEps: eps(1e-6),
				MaxPositionEmbeddings: 163840},
			MoE: hparams.MoE{FirstKDenseReplace: 1, NRoutedExperts: 8, NSharedExperts: 2, NumExpertsPerTok: 3, MoEIntermediateSize: 160,
				ScoringFunc: "softmax", RoutedScalingFactor: 1, NGroup: 1, TopKGroup: 1},
			RopeTheta: 10000,
			RopeScaling: RopeScaling{Type: "yarn", Factor: 40, OriginalContext: 4096, AttnFactor: 1,
				LogMultiplier: eps(0.0707), HasLogMultiplier: true},
			TokenizerModel: "gpt2",
			TokenizerPre:   "deepseek-llm",
		},
		"glm47-mini-Q4_K_M": {
			Dims: hparams.Dims{VocabSize: 512, HiddenSize: 256, NumHiddenLayers: 4, NumAttentionHeads: 5, QLoraRank: 256,
				KVLoraRank: 256, QKNopeHeadDim: 96, QKRopeHeadDim: 32, VHeadDim: 128, IntermediateSize: 768,
				RMSNormEps: eps(1e-5), MaxPositionEmbeddings: 202752},
			MoE: hparams.MoE{FirstKDenseReplace: 1, NRoutedExperts: 8, NSharedExperts: 1, NumExpertsPerTok: 4, MoEIntermediateSize: 256,
				ScoringFunc: "sigmoid", SelectionBias: true, NormTopKProb: true, RoutedScalingFactor: eps(1.8), NGroup: 1,
				TopKGroup: 1},
			RopeTheta:      1000000,
			RopeScaling:    noScaling(202752),
			TokenizerModel: "gpt2",
			TokenizerPre:   "glm4",
		},
		"glm47-tiny-Q4_0": {
			Dims: hparams.Dims{VocabSize: 384, HiddenSize: 96, NumHiddenLayers: 4, NumAttentionHeads: 5, QLoraRank: 64,
				KVLoraRank: 64, QKNopeHeadDim: 48, QKRopeHeadDim: 16, VHeadDim: 64, IntermediateSize: 160,
				RMSNormEps: eps(1e-5), MaxPositionEmbeddings: 202752},
			MoE: hparams.MoE{FirstKDenseReplace: 1, NRoutedExperts: 16, NSharedExperts: 1, NumExpertsPerTok: 4, MoEIntermediateSize: 64,
				ScoringFunc: "sigmoid", SelectionBias: true, NormTopKProb: true, RoutedScalingFactor: eps(1.8), NGroup: 1,
				TopKGroup: 1},
			RopeTheta:      1000000,
			RopeScaling:    noScaling(202752),
			TokenizerModel: "gpt2",
			TokenizerPre:   "glm4",
		},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			want.Architecture = "deepseek2"
			got, err := ReadHParams(open(t, reference(name)))
			if err != nil || got != want {
				t.Errorf("%v\n got %+v\nwant %+v", err, got, want)
			}
		})
	}
}

// model is a deepseek2 file in the making: metadata without order and the names
// of tensors, which hold one element, but for the embedding table.
type model struct {
	arch    string // that it is written as; "": deepseek2
	keys    map[string]Value
	vocab   uint64
	tensors []string
}

const hiddenSize = 16

// smallModel has three layers, of which the last two have experts.
func smallModel() *model {
	return &model{
		vocab:   8,
		tensors: []string{"output.weight"},
		keys: map[string]Value{
			"general.architecture":                       String("deepseek2"),
			"deepseek2.block_count":                      Uint32(3),
			"deepseek2.context_length":                   Uint32(4096),
			"deepseek2.embedding_length":                 Uint32(hiddenSize),
			"deepseek2.feed_forward_length":              Uint32(64),
			"deepseek2.attention.head_count":             Uint32(2),
			"deepseek2.attention.layer_norm_rms_epsilon": Float32(1e-6),
			"deepseek2.attention.q_lora_rank":            Uint32(12),
			"deepseek2.attention.kv_lora_rank":           Uint32(32),
			"deepseek2.attention.key_length":             Uint32(40),
			"deepseek2.attention.value_length":           Uint32(32),
			"deepseek2.attention.key_length_mla":         Uint32(24),
			"deepseek2.attention.value_length_mla":       Uint32(16),
			"deepseek2.rope.dimension_count":             Uint32(8),
			"deepseek2.leading_dense_block_count":        Uint32(1),
			"deepseek2.expert_feed_forward_length":       Uint32(48),
			"deepseek2.expert_shared_count":              Uint32(1),
			"deepseek2.expert_count":                     Uint32(8),
			"deepseek2.expert_used_count":                Uint32(2),
		},
	}
}

func (m *model) set(key string, v Value) { m.keys["deepseek2."+key] = v }
func (m *model) remove(keys ...string) {
	for _, k := range keys {
		delete(m.keys, "deepseek2."+k)
	}
}

// write writes the file; vocabularies are large, so the type is the smallest.
func (m *model) write(t testing.TB) string {
	t.Helper()
	var meta []KV
	if m.arch != "" {
		m.keys["general.architecture"] = String(m.arch)
	}
	for _, k := range slices.Sorted(maps.Keys(m.keys)) {
		name := k
		if own, ok := strings.CutPrefix(k, "deepseek2."); ok && m.arch != "" {
			name = m.arch + "." + own
		}
		meta = append(meta, KV{name, m.keys[k]})
	}
	tensors := []TensorInfo{{"token_embd.weight", quant.F16, []uint64{hiddenSize, m.vocab}}}
	for _, name := range m.tensors {
		tensors = append(tensors, TensorInfo{name, quant.F32, []uint64{1}})
	}
	return writeFile(t, filepath.Join(t.TempDir(), "m.gguf"), meta, tensors)
}

// deepseekFile is a seed for fuzzing.
func deepseekFile(t testing.TB) []byte {
	return open(t, smallModel().write(t)).Shards[0].Data
}

func TestHParamsRules(t *testing.T) {
	tests := []struct {
		name   string
		change func(m *model)
		ok     func(h HParams) bool
	}{
		{"defaults", func(m *model) {}, func(h HParams) bool {
			return h.ScoringFunc == "softmax" && !h.SelectionBias && !h.NormTopKProb && h.RoutedScalingFactor == 1 &&
				h.NGroup == 1 && h.TopKGroup == 1 && h.RopeTheta == 10000 && h.RopeScaling == noScaling(4096) &&
				!h.TieWordEmbeddings && !h.LegacyKVB && !h.FusedGateUp && h.TokenizerModel == "" && h.QLoraRank == 12
		}},
		{"tied", func(m *model) { m.tensors = nil }, func(h HParams) bool { return h.TieWordEmbeddings }},
		{"26 layers are lite", func(m *model) { m.set("block_count", Uint32(26)) }, func(h HParams) bool { return h.QLoraRank == 0 }},
		{"27 layers are lite", func(m *model) { m.set("block_count", Uint32(27)); m.remove("attention.q_lora_rank") },
			func(h HParams) bool { return h.QLoraRank == 0 && h.NumHiddenLayers == 27 }},
		{"27 blocks of which one is not a layer", func(m *model) {
			m.set("block_count", Uint32(28))
			m.set("nextn_predict_layers", Uint32(1))
		}, func(h HParams) bool { return h.QLoraRank == 0 && h.NumHiddenLayers == 27 && h.NextNLayers == 1 }},
		{"48 layers are not", func(m *model) { m.set("block_count", Uint32(48)) }, func(h HParams) bool { return h.QLoraRank == 12 }},
		{"48 layers with that vocabulary are", func(m *model) { m.set("block_count", Uint32(48)); m.vocab = 128256 },
			func(h HParams) bool { return h.QLoraRank == 0 }},
		{"q_lora_rank 0", func(m *model) { m.set("attention.q_lora_rank", Uint32(0)) }, func(h HParams) bool { return h.QLoraRank == 0 }},
		{"GLM without gating", func(m *model) { m.set("block_count", Uint32(47)); m.vocab = 154880 },
			func(h HParams) bool { return h.ScoringFunc == "sigmoid" }},
		{"GLM with gating", func(m *model) {
			m.set("block_count", Uint32(47))
			m.set("expert_gating_func", Uint32(1))
			m.vocab = 154880
		}, func(h HParams) bool { return h.ScoringFunc == "softmax" }},
		{"gating 2", func(m *model) { m.set("expert_gating_func", Uint32(2)) }, func(h HParams) bool { return h.ScoringFunc == "sigmoid" }},
		{"gating 0 is absent", func(m *model) { m.set("expert_gating_func", Uint32(0)) }, func(h HParams) bool { return h.ScoringFunc == "softmax" }},
		{"scale 0", func(m *model) { m.set("expert_weights_scale", Float32(0)) }, func(h HParams) bool { return h.RoutedScalingFactor == 1 }},
		{"scale 2.5", func(m *model) { m.set("expert_weights_scale", Float32(2.5)) }, func(h HParams) bool { return h.RoutedScalingFactor == 2.5 }},
		{"norm", func(m *model) { m.set("expert_weights_norm", Bool(true)) }, func(h HParams) bool { return h.NormTopKProb }},
		{"bias of the first layer with experts", func(m *model) { m.tensors = append(m.tensors, "blk.1.exp_probs_b.bias") },
			func(h HParams) bool { return h.SelectionBias }},
		{"fused", func(m *model) { m.tensors = append(m.tensors, "blk.1.ffn_gate_up_exps.weight") }, func(h HParams) bool { return h.FusedGateUp }},
		{"groups", func(m *model) {
			m.set("expert_group_count", Uint32(4))
			m.set("expert_group_used_count", Uint32(2))
		}, func(h HParams) bool { return h.NGroup == 4 && h.TopKGroup == 2 }},
		{"all layers dense", func(m *model) { m.set("leading_dense_block_count", Uint32(9)) }, func(h HParams) bool {
			return h.FirstKDenseReplace == 3 && h.NRoutedExperts == 0 && h.MoEIntermediateSize == 0 && h.ScoringFunc == ""
		}},
		{"no dense layer", func(m *model) { m.remove("leading_dense_block_count") }, func(h HParams) bool { return h.FirstKDenseReplace == 0 }},
		{"legacy", func(m *model) {
			m.remove("attention.key_length_mla", "attention.value_length_mla")
			m.tensors = append(m.tensors, "blk.0.attn_kv_b.weight")
		}, func(h HParams) bool { return h.LegacyKVB && h.QKNopeHeadDim == 32 && h.VHeadDim == 32 }},
		{"yarn", func(m *model) {
			m.set("rope.scaling.type", String("yarn"))
			m.set("rope.scaling.factor", Float32(40))
			m.set("rope.scaling.original_context_length", Uint32(64))
			m.set("rope.scaling.attn_factor", Float32(1.25))
			m.set("rope.scaling.yarn_log_multiplier", Float32(0))
			m.set("rope.scaling.yarn_beta_fast", String("not read"))
		}, func(h HParams) bool {
			return h.RopeScaling == RopeScaling{Type: "yarn", Factor: 40, OriginalContext: 64, AttnFactor: 1.25, HasLogMultiplier: true}
		}},
		{"older name of the factor", func(m *model) {
			m.set("rope.scaling.type", String("yarn"))
			m.set("rope.scale_linear", Float32(4))
		}, func(h HParams) bool { return h.RopeScaling.Factor == 4 }},
		{"both names of the factor", func(m *model) {
			m.set("rope.scaling.type", String("yarn"))
			m.set("rope.scale_linear", Float32(4))
			m.set("rope.scaling.factor", Float32(2))
		}, func(h HParams) bool { return h.RopeScaling.Factor == 2 }},
		{"vocabulary", func(m *model) { m.set("vocab_size", Uint32(8)) }, func(h HParams) bool { return h.VocabSize == 8 }},
		{"temperature", func(m *model) {
			m.set("attention.temperature_scale", Float32(0.5))
			m.set("attention.temperature_length", Uint32(8192))
		}, func(h HParams) bool { return h.Temperature == Temperature{0.5, 8192} }},
		{"temperature without scale", func(m *model) { m.set("attention.temperature_length", Uint32(8192)) }, func(h HParams) bool { return h.Temperature == Temperature{} }},
		{"factor 0", func(m *model) { m.set("rope.scaling.factor", Float32(0)) }, func(h HParams) bool { return h.RopeScaling.Factor == 1 }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := smallModel()
			tt.change(m)
			h, err := ReadHParams(open(t, m.write(t)))
			if err != nil || !tt.ok(h) {
				t.Errorf("%v, %+v", err, h)
			}
		})
	}
}

func TestHParamsRequired(t *testing.T) {
	for _, key := range []string{
		"block_count", "context_length", "embedding_length", "feed_forward_length", "attention.head_count",
		"attention.layer_norm_rms_epsilon", "attention.kv_lora_rank", "attention.q_lora_rank", "rope.dimension_count",
		"expert_feed_forward_length", "expert_shared_count", "expert_used_count",
	} {
		m := smallModel()
		m.remove(key)
		_, err := ReadHParams(open(t, m.write(t)))
		wantError(t, err, "m.gguf", `"deepseek2.`+key+`"`, "missing")
	}
}

func TestHParamsErrors(t *testing.T) {
	set := func(key string, v Value) func(*model) { return func(m *model) { m.set(key, v) } }
	tests := []struct {
		name   string
		change func(m *model)
		want   []string
	}{
		{"architecture", func(m *model) { m.keys["general.architecture"] = String("llama") }, []string{"general.architecture", `"llama"`, "deepseek2"}},
		{"architecture missing", func(m *model) { delete(m.keys, "general.architecture") }, []string{"general.architecture"}},
		{"layers", set("block_count", Uint32(1<<31)), []string{"block_count", "is 2147483648; expected 1 to 512"}},
		{"no layers", set("block_count", Uint32(0)), []string{"block_count", "is 0"}},
		{"negative", set("block_count", Int32(-1)), []string{"block_count", "is -1"}},
		{"wrong type", set("block_count", String("3")), []string{"block_count", "is string"}},
		{"only prediction layers", set("nextn_predict_layers", Uint32(3)), []string{"nextn_predict_layers", "is 3"}},
		{"width", set("embedding_length", Uint64(1<<63)), []string{"embedding_length", "9223372036854775808"}},
		{"width against the table", set("embedding_length", Uint32(17)), []string{"token_embd.weight", "[16 8]", "[17 V]"}},
		{"tokens", func(m *model) { m.keys["tokenizer.ggml.tokens"] = Strings([]string{"a"}) }, []string{"tokenizer.ggml.tokens", "1 elements; expected 8"}},
		{"vocabulary", set("vocab_size", Uint32(9)), []string{"vocab_size", "is 9; expected 8"}},
		{"epsilon", set("attention.layer_norm_rms_epsilon", Float32(0)), []string{"layer_norm_rms_epsilon", "is 0"}},
		{"epsilon NaN", set("attention.layer_norm_rms_epsilon", Float64(math.NaN())), []string{"layer_norm_rms_epsilon", "NaN"}},
		{"heads", set("attention.head_count", Uint32(5000)), []string{"head_count", "5000"}},
		{"odd rope", set("rope.dimension_count", Uint32(7)), []string{"rope.dimension_count", "is 7", "even"}},
		{"rope above key", set("rope.dimension_count", Uint32(24)), []string{"key_length", "expected 56"}},
		{"key within rope", set("attention.key_length_mla", Uint32(8)), []string{"key_length_mla", "is 8", "more than rope.dimension_count"}},
		{"cache key", set("attention.key_length", Uint32(41)), []string{"attention.key_length", "is 41; expected 40"}},
		{"cache value", set("attention.value_length", Uint32(33)), []string{"attention.value_length", "is 33; expected 32"}},
		{"legacy without its tensor", func(m *model) { m.remove("attention.key_length_mla") }, []string{"blk.0.attn_kv_b.weight", "missing"}},
		{"no experts", set("expert_count", Uint32(0)), []string{"expert_count", "layers 1 to 2"}},
		{"expert width", set("expert_feed_forward_length", Uint32(0)), []string{"expert_feed_forward_length", "is 0"}},
		{"too many experts used", set("expert_used_count", Uint32(9)), []string{"expert_used_count", "is 9; expected 1 to 8"}},
		{"gating", set("expert_gating_func", Uint32(3)), []string{"expert_gating_func", "is 3", "sigmoid"}},
		{"scale infinite", set("expert_weights_scale", Float32(float32(math.Inf(1)))), []string{"expert_weights_scale", "+Inf"}},
		{"groups do not divide", func(m *model) {
			m.set("expert_group_count", Uint32(3))
			m.set("expert_group_used_count", Uint32(1))
		}, []string{"expert_group_count", "is 3", "divisor"}},
		{"groups of one", func(m *model) {
			m.set("expert_group_count", Uint32(8))
			m.set("expert_group_used_count", Uint32(4))
		}, []string{"expert_group_count", "is 8"}},
		{"groups used", func(m *model) {
			m.set("expert_group_count", Uint32(4))
			m.set("expert_group_used_count", Uint32(5))
		}, []string{"expert_group_used_count", "is 5"}},
		{"groups too few", func(m *model) {
			m.set("expert_group_count", Uint32(4))
			m.set("expert_group_used_count", Uint32(1))
			m.set("expert_used_count", Uint32(3))
		}, []string{"expert_used_count", "is 3", "2 experts in 1 groups"}},
		{"temperature without length", set("attention.temperature_scale", Float32(0.1)), []string{"temperature_length", "0 or missing", "0.1"}},
		{"temperature NaN", set("attention.temperature_scale", Float32(float32(math.NaN()))), []string{"temperature_scale", "NaN"}},
		{"rope base", set("rope.freq_base", Float32(0)), []string{"rope.freq_base", "is 0"}},
		{"rope scaling", set("rope.scaling.type", String("longrope")), []string{"rope.scaling.type", `"longrope"`, `"yarn"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := smallModel()
			tt.change(m)
			_, err := ReadHParams(open(t, m.write(t)))
			wantError(t, err, append(tt.want, "m.gguf")...)
		})
	}
	_, err := ReadHParams(&File{Path: "x", keys: map[string]int{"general.architecture": 0}, Meta: []KV{{"", String("deepseek2")}}})
	wantError(t, err, "block_count")
}

func TestHParamsWithoutEmbeddings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.gguf")
	var meta []KV
	for k, v := range smallModel().keys {
		meta = append(meta, KV{k, v})
	}
	_, err := ReadHParams(open(t, writeFile(t, path, meta, nil)))
	wantError(t, err, `"token_embd.weight" is missing`)
}
