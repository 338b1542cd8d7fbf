package spec

import "mla/runtime/gguf"

// Shapes of the GPU family that the kernels are written for (Apple7 and later).
const (
	simdgroup      = 32 // threads
	maxThreadgroup = 1024
	maxSimdgroups  = maxThreadgroup / simdgroup
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
	{"model.hidden_size", simdgroup, "the simdgroup", func(s *Spec) int { return s.Model.HiddenSize }},
	{"model.q_lora_rank", simdgroup, "the simdgroup", func(s *Spec) int { return s.Model.QLoraRank }},
	{"model.kv_lora_rank", simdgroup, "the simdgroup", func(s *Spec) int { return s.Model.KVLoraRank }},
	{"model.intermediate_size", simdgroup, "the simdgroup", func(s *Spec) int { return s.Model.IntermediateSize }},
	{"moe.moe_intermediate_size", simdgroup, "the simdgroup", func(s *Spec) int { return s.MoE.MoEIntermediateSize }},
	{"model.qk_nope_head_dim", 8, "16 bytes of halves", func(s *Spec) int { return s.Model.QKNopeHeadDim }},
	{"model.v_head_dim", 8, "16 bytes of halves", func(s *Spec) int { return s.Model.VHeadDim }},
	{"model.qk_rope_head_dim", 4, "rotary pairs, and 16 bytes of floats", func(s *Spec) int { return s.Model.QKRopeHeadDim }},
}

// relation is a rule between values. The message stands at path; it is checked
// when path and all of needs are well formed.
type relation struct {
	path  string
	needs []string
	bad   func(s *Spec) bool
	msg   string
	args  func(s *Spec) []any
}

var relations = []relation{
	{"model.qk_rope_head_dim", []string{"model.qk_nope_head_dim"},
		func(s *Spec) bool { return s.Model.QKRopeHeadDim > s.Model.QKNopeHeadDim },
		"is %d, but the rest of a key, qk_nope_head_dim, has only %d",
		func(s *Spec) []any { return []any{s.Model.QKRopeHeadDim, s.Model.QKNopeHeadDim} }},
	{"model.q_lora_rank", []string{"model.num_hidden_layers", "model.vocab_size"},
		func(s *Spec) bool {
			return s.Model.QLoraRank > 0 && gguf.IsLite(s.Model.NumHiddenLayers, s.Model.VocabSize)
		},
		"is %d, but files of %d layers are read as DeepSeek-V2-Lite, which has none; expected null",
		func(s *Spec) []any { return []any{s.Model.QLoraRank, s.Model.NumHiddenLayers} }},
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
	s.Tuning.inherit()
	d.checkShapes(&s.Tuning)
	for _, m := range multiples {
		if n := d.at[m.path]; n != nil && m.get(s)%m.of != 0 {
			d.reject(m.path, "is %d; expected a multiple of %d (%s)", m.get(s), m.of, m.why)
		}
	}
	for _, r := range relations {
		if d.has(r.path) && d.has(r.needs...) && r.bad(s) {
			d.reject(r.path, r.msg, r.args(s)...)
		}
	}
	for _, b := range budgets {
		if !d.has(b.needs...) {
			continue
		}
		if used := b.used(s); used > b.limit {
			d.errorf(d.first(b.blame), "%s %d %s; expected at most %d: %s", b.what, used, b.unit, b.limit, b.remedy)
		}
	}
}

// reject reports a well-formed value that cannot be right. Rules that need it
// are no longer checked.
func (d *decoder) reject(path, format string, args ...any) {
	d.errorf(d.at[path], path+" "+format, args...)
	delete(d.at, path)
}

// inherit gives kernel overrides what they leave out.
func (t *Tuning) inherit() {
	for i := range t.Kernels {
		k := &t.Kernels[i]
		if k.RowsPerSimdgroup == 0 {
			k.RowsPerSimdgroup = t.MatVec.RowsPerSimdgroup
		}
		if k.Simdgroups == 0 {
			k.Simdgroups = t.MatVec.Simdgroups
		}
		if k.SplitK == 0 {
			k.SplitK = t.MatVec.SplitK
		}
	}
}

// checkShapes wants simdgroups that can share rows evenly.
func (d *decoder) checkShapes(t *Tuning) {
	d.checkShape("tuning.matvec", t.MatVec)
	for _, k := range t.Kernels {
		d.checkShape("tuning.kernels."+k.Kernel, k.Shape)
	}
}

func (d *decoder) checkShape(path string, s Shape) {
	if s.Simdgroups == 0 || s.SplitK == 0 || s.Simdgroups%s.SplitK == 0 {
		return
	}
	n := d.first([]string{path + ".split_k", path + ".simdgroups", "tuning.matvec.split_k", "tuning.matvec.simdgroups"})
	d.errorf(n, "%s.split_k is %d; expected a divisor of simdgroups, %d", path, s.SplitK, s.Simdgroups)
}
