package spec

import (
	"slices"

	"mla/gen/target"
	"mla/runtime/gguf"
)

// multiples are the dimensions that must be a multiple of something. Widths
// that mat-vec kernels stride over are whole simdgroups; head dimensions are
// read 8 halves (16 bytes) at a time.
var multiples = []struct {
	path string
	of   int
	why  string
	get  func(s *Spec) int
}{
	{"model.hidden_size", target.SimdWidth, "the simdgroup", func(s *Spec) int { return s.Model.HiddenSize }},
	{"model.q_lora_rank", target.SimdWidth, "the simdgroup", func(s *Spec) int { return s.Model.QLoraRank }},
	{"model.kv_lora_rank", target.SimdWidth, "the simdgroup", func(s *Spec) int { return s.Model.KVLoraRank }},
	{"model.intermediate_size", target.SimdWidth, "the simdgroup", func(s *Spec) int { return s.Model.IntermediateSize }},
	{"moe.moe_intermediate_size", target.SimdWidth, "the simdgroup", func(s *Spec) int { return s.MoE.MoEIntermediateSize }},
	{"moe.moe_shared_expert_intermediate_size", target.SimdWidth, "the simdgroup", func(s *Spec) int { return s.experts.SharedIntermediateSize }},
	{"linear_attn_config.head_dim", target.SimdWidth, "the simdgroup", func(s *Spec) int { return s.Hybrid.HeadDim }},
	{"model.qk_nope_head_dim", 8, "16 bytes of halves", func(s *Spec) int { return s.Model.QKNopeHeadDim }},
	{"model.v_head_dim", 8, "16 bytes of halves", func(s *Spec) int { return s.Model.VHeadDim }},
	{"model.qk_rope_head_dim", 8, "rotary pairs, and 16 bytes of halves", func(s *Spec) int { return s.Model.QKRopeHeadDim }},
}

// relation is a rule between several values. A violation is reported at path. The rule is checked only if the
// values at path and at all of needs are well formed.
type relation struct {
	path  string
	needs []string
	bad   func(s *Spec) bool
	msg   string
	args  func(s *Spec) []any
}

// relations are the rules for every kind of model. hybridRelations has the rules for hybrid models.
var relations = []relation{
	{"model.qk_rope_head_dim", []string{"model.qk_nope_head_dim"},
		func(s *Spec) bool { return s.Model.QKRopeHeadDim > s.Model.QKNopeHeadDim },
		"is %d, but the rest of a key, qk_nope_head_dim, has only %d",
		func(s *Spec) []any { return []any{s.Model.QKRopeHeadDim, s.Model.QKNopeHeadDim} }},
	{"moe", nil,
		func(s *Spec) bool { return s.MoE != nil && gguf.ArchitectureOf(s.Architecture).Dense },
		"is given, but models of architecture %s have no experts",
		func(s *Spec) []any { return []any{s.Architecture} }},
	{"temperature", nil,
		func(s *Spec) bool {
			return s.Temperature.Scale != 0 && (gguf.ArchitectureOf(s.Architecture).Dense || s.Hybrid != nil)
		},
		"is given, but models of architecture %s have none",
		func(s *Spec) []any { return []any{s.Architecture} }},
	{"rope.scaling", nil,
		func(s *Spec) bool {
			return s.Rope.Scaling != nil && (gguf.ArchitectureOf(s.Architecture).Dense || s.Hybrid != nil)
		},
		"is given, but models of architecture %s have no YaRN",
		func(s *Spec) []any { return []any{s.Architecture} }},
	{"model.q_lora_rank", nil,
		func(s *Spec) bool { return s.Model.QLoraRank > 0 && gguf.ArchitectureOf(s.Architecture).FullQuery },
		"is %d, but models of architecture %s have none; expected null",
		func(s *Spec) []any { return []any{s.Model.QLoraRank, s.Architecture} }},
	{"architecture", nil,
		func(s *Spec) bool { return !s.Model.TieWordEmbeddings && gguf.ArchitectureOf(s.Architecture).Tied },
		"is %s, whose models have tied embeddings; expected tie_word_embeddings: true in model",
		func(s *Spec) []any { return []any{s.Architecture} }},
	{"model.q_lora_rank", []string{"model.num_hidden_layers", "model.vocab_size"},
		func(s *Spec) bool {
			return s.Model.QLoraRank > 0 && !gguf.ArchitectureOf(s.Architecture).Dense && s.Hybrid == nil && gguf.IsLite(s.Model.NumHiddenLayers, s.Model.VocabSize)
		},
		"is %d, but files of %d layers are read as DeepSeek-V2-Lite, which has none; expected null",
		func(s *Spec) []any { return []any{s.Model.QLoraRank, s.Model.NumHiddenLayers} }},
	{"model.num_nextn_predict_layers", nil,
		func(s *Spec) bool { return s.Model.NumNextNPredictLayers > 0 && !s.Predicts() },
		"is %d, which takes moe, q_lora_rank or architecture bailingmoe3, and no temperature: no other model with such a layer is known",
		func(s *Spec) []any { return []any{s.Model.NumNextNPredictLayers} }},
	{"moe.num_experts_per_tok", []string{"moe.n_routed_experts"},
		func(s *Spec) bool { return s.MoE.NumExpertsPerTok > s.MoE.NRoutedExperts },
		"is %d, more than n_routed_experts, which is %d",
		func(s *Spec) []any { return []any{s.MoE.NumExpertsPerTok, s.MoE.NRoutedExperts} }},
	{"moe.first_k_dense_replace", []string{"model.num_hidden_layers"},
		func(s *Spec) bool { return s.MoE.FirstKDenseReplace >= s.Model.NumHiddenLayers },
		"is %d, which leaves none of the %d layers to experts; leave out moe for a dense model",
		func(s *Spec) []any { return []any{s.MoE.FirstKDenseReplace, s.Model.NumHiddenLayers} }},
	{"moe.n_group", []string{"moe.n_routed_experts"},
		func(s *Spec) bool { return s.MoE.NGroup > 1 && s.MoE.NRoutedExperts%s.MoE.NGroup != 0 },
		"is %d, which does not divide n_routed_experts, %d",
		func(s *Spec) []any { return []any{s.MoE.NGroup, s.MoE.NRoutedExperts} }},
	{"moe.n_group", []string{"moe.n_routed_experts"},
		func(s *Spec) bool { return s.MoE.NGroup > 1 && s.MoE.NRoutedExperts < 2*s.MoE.NGroup },
		"is %d, which leaves a group fewer than the 2 experts that it is scored by (n_routed_experts is %d)",
		func(s *Spec) []any { return []any{s.MoE.NGroup, s.MoE.NRoutedExperts} }},
	{"moe.topk_group", nil,
		func(s *Spec) bool { return s.MoE.TopKGroup > s.MoE.NGroup },
		"is %d, more than n_group, which is %d",
		func(s *Spec) []any { return []any{s.MoE.TopKGroup, s.MoE.NGroup} }},
	{"moe.num_experts_per_tok", []string{"moe.n_routed_experts", "moe.n_group"},
		func(s *Spec) bool {
			return s.MoE.NGroup > 1 && s.MoE.NumExpertsPerTok > s.MoE.NRoutedExperts/s.MoE.NGroup*s.MoE.TopKGroup
		},
		"is %d, more than the experts of the %d groups that are kept (topk_group)",
		func(s *Spec) []any { return []any{s.MoE.NumExpertsPerTok, s.MoE.TopKGroup} }},
}

// checkDims compares the values with each other and with the hardware.
func (d *decoder) checkDims(s *Spec) {
	for _, m := range multiples {
		if n := d.at[m.path]; n != nil && m.get(s)%m.of != 0 {
			d.reject(m.path, "is %d; expected a multiple of %d (%s)", m.get(s), m.of, m.why)
		}
	}
	for _, r := range slices.Concat(hybridRelations, relations) {
		if d.has(r.path) && d.has(r.needs...) && r.bad(s) {
			d.reject(r.path, r.msg, r.args(s)...)
		}
	}
	d.checkTuning(s, "")
	for _, c := range s.tunings.classes {
		d.checkTuning(s, c.class)
	}
}

// reject reports a well-formed value that breaks a rule, and forgets the value. Other rules that need it
// are no longer checked.
func (d *decoder) reject(path, format string, args ...any) {
	d.errorf(d.at[path], path+" "+format, args...)
	delete(d.at, path)
}
