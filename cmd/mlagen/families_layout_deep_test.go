//go:build deep

package main

import (
	"fmt"
	"mla/gen/spec"
	"mla/gen/spectest"
	"mla/runtime/gguf"
	"mla/runtime/quant"
	"slices"
	"strings"
	"testing"
)

// TestLayouts compares files of all layouts with what they mean.
func TestLayouts(t *testing.T) {
	for _, l := range layouts {
		for _, profile := range []string{"q4_k_m", "f16 legacy_kv_b"} {
			if strings.Contains(profile, "legacy") && notLegacy[l.name] {
				continue
			}
			t.Run(l.name+" "+profile, func(t *testing.T) {
				s := l.model(t)
				m := loadModel(t, synthFile(t, s, profile, 5))
				l.change(m, s)
				compareFile(t, m.write(t), s)
			})
		}
	}
}

// layout is one difference between a converter's file and a file of synth. It changes the
// file, and also the spec if the reader has to treat the file differently.
type layout struct {
	name   string
	model  func(*testing.T) *spec.Spec
	change func(m *modelFile, s *spec.Spec)
}

var layouts = []layout{
	{"fused gate and up of the experts", glm, func(m *modelFile, s *spec.Spec) { m.fuseExperts(s) }},
	{"attn_kv_b beside the split halves", glm, func(m *modelFile, s *spec.Spec) {
		kvb := s.Model.NumAttentionHeads * (s.Model.QKNopeHeadDim + s.Model.VHeadDim) * s.Model.KVLoraRank
		for l := range s.Model.NumHiddenLayers {
			m.add(fmt.Sprintf("blk.%d.attn_kv_b.weight", l), quant.F32, []uint64{uint64(s.Model.KVLoraRank), uint64(kvb / s.Model.KVLoraRank)}, make([]byte, 4*kvb))
		}
	}},
	{"no gating function", deepseek, func(m *modelFile, _ *spec.Spec) { m.drop("expert_gating_func") }},
	{"no gating function, another family", glm, func(m *modelFile, s *spec.Spec) {
		m.drop("expert_gating_func")
		s.MoE.ScoringFunc = "softmax" // only GLM-4.7-Flash itself is recognised
	}},
	{"no weights scale", glm, func(m *modelFile, s *spec.Spec) {
		m.drop("expert_weights_scale")
		s.MoE.RoutedScalingFactor = 1
	}},
	{"weights scale 0", glm, func(m *modelFile, s *spec.Spec) {
		m.set("expert_weights_scale", gguf.Float32(0))
		s.MoE.RoutedScalingFactor = 1
	}},
	{"no groups", glm, func(m *modelFile, _ *spec.Spec) { m.drop("expert_group_count", "expert_group_used_count") }},
	{"groups 0", deepseek, func(m *modelFile, _ *spec.Spec) {
		m.set("expert_group_count", gguf.Uint32(0))
		m.set("expert_group_used_count", gguf.Uint32(0))
	}},
	{"weights_norm false", deepseek, func(m *modelFile, s *spec.Spec) {
		m.set("expert_weights_norm", gguf.Bool(false))
		s.MoE.NormTopKProb = false
	}},
	{"no freq_base", glm, func(m *modelFile, s *spec.Spec) {
		m.drop("rope.freq_base")
		s.Rope.Theta = 10000
	}},
	{"no key_length and value_length", glm, func(m *modelFile, _ *spec.Spec) { m.drop("attention.key_length", "attention.value_length") }},
	{"YaRN of factor 1", glm, func(m *modelFile, _ *spec.Spec) {
		m.set("rope.scaling.type", gguf.String("yarn"))
		m.set("rope.scaling.factor", gguf.Float32(1))
		m.set("rope.scaling.original_context_length", gguf.Uint32(32))
		m.set("rope.scaling.yarn_log_multiplier", gguf.Float32(0))
	}},
	{"YaRN without factor, context and multiplier", glm, func(m *modelFile, _ *spec.Spec) { m.set("rope.scaling.type", gguf.String("yarn")) }},
	{"YaRN without a context", deepseek, func(m *modelFile, s *spec.Spec) {
		m.drop("rope.scaling.original_context_length")
		s.Rope.Scaling.OriginalMaxPositionEmbeddings = s.Model.MaxPositionEmbeddings
	}},
	{"YaRN keys that are not read", deepseek, func(m *modelFile, _ *spec.Spec) {
		for _, key := range []string{"beta_fast", "beta_slow", "ext_factor", "attn_factor"} {
			m.set("rope.scaling.yarn_"+key, gguf.Float32(3))
		}
	}},
	{"scaling type none", deepseek, func(m *modelFile, s *spec.Spec) {
		m.set("rope.scaling.type", gguf.String("none"))
		m.drop("rope.scaling.attn_factor")
		s.Rope.Scaling = nil
	}},
	{"multi-token prediction", glm, func(m *modelFile, s *spec.Spec) { m.addPrediction(s) }},
	{"sizes as 64-bit integers", dense, func(m *modelFile, s *spec.Spec) {
		m.set("embedding_length", gguf.Uint64(uint64(s.Model.HiddenSize)))
		m.set("block_count", gguf.Int64(int64(s.Model.NumHiddenLayers)))
		m.set("expert_shared_count", gguf.Uint32(0))
	}},
	{"dense with the counts of experts", dense, func(m *modelFile, _ *spec.Spec) {
		m.set("expert_count", gguf.Uint32(0))
		m.set("expert_used_count", gguf.Uint32(0))
		m.set("expert_gating_func", gguf.Uint32(1))
	}},
	{"no vocab_size and head_count_kv", glm, func(m *modelFile, _ *spec.Spec) { m.drop("vocab_size", "attention.head_count_kv") }},
	{"tensors in another order", glm, func(m *modelFile, _ *spec.Spec) { slices.Reverse(m.tensors) }},
	{"one type more", glm, func(m *modelFile, _ *spec.Spec) { m.retype("blk.0.attn_output.weight", quant.Q8_0) }},
	{"MXFP4 experts", glm, func(m *modelFile, s *spec.Spec) {
		for l := s.MoE.FirstKDenseReplace; l < s.Model.NumHiddenLayers; l++ {
			for _, part := range []string{"gate", "up", "down"} {
				m.retype(fmt.Sprintf("blk.%d.ffn_%s_exps.weight", l, part), quant.MXFP4)
			}
		}
	}},
	{"alignment 256", glm, func(m *modelFile, _ *spec.Spec) {
		m.meta = append(m.meta, gguf.KV{Key: "general.alignment", Value: gguf.Uint32(256)})
	}},
}

// notLegacy are layouts that files with attn_kv_b alone cannot have.
var notLegacy = map[string]bool{"attn_kv_b beside the split halves": true, "no key_length and value_length": true}

// dense is a model of Youtu-LLM's family with a tied head.
func dense(t *testing.T) *spec.Spec {
	t.Helper()
	for seed := range uint64(1000) {
		if s := spectest.Family(seed); s.Tokenizer == "youtu" && s.Model.TieWordEmbeddings {
			return s
		}
	}
	t.Fatal("no seed gives a tied model")
	return nil
}
