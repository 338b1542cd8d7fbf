package spec

import "gopkg.in/yaml.v3"

// Limits of the GPU family that the kernels are written for (Apple7 and later).
const (
	simdgroup      = 32 // threads
	maxThreadgroup = 1024
	maxSimdgroups  = maxThreadgroup / simdgroup
	maxMemory      = 32768 // bytes of threadgroup memory
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
	{"model.qk_rope_head_dim", 2, "a rotary pair", func(s *Spec) int { return s.Model.QKRopeHeadDim }},
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
	for _, u := range memoryUses {
		if !d.has(u.needs...) {
			continue
		}
		if used := u.bytes(s); used > maxMemory {
			d.errorf(d.first(u.blame), "%s take %d bytes of threadgroup memory; expected at most %d: %s", u.what, used, maxMemory, u.remedy)
		}
	}
}

// reject reports a well-formed value that cannot be right. Rules that need it
// are no longer checked.
func (d *decoder) reject(path, format string, args ...any) {
	d.errorf(d.at[path], path+" "+format, args...)
	delete(d.at, path)
}

// first returns the first of the values that the file has.
func (d *decoder) first(paths []string) *yaml.Node {
	for _, p := range paths {
		if n := d.at[p]; n != nil {
			return n
		}
	}
	return &yaml.Node{}
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
	}
}

// memoryUse is what one kind of kernel keeps in threadgroup memory.
type memoryUse struct {
	what   string
	needs  []string
	bytes  func(s *Spec) int
	blame  []string // where the mistake is reported: the first that the file has
	remedy string
}

var memoryUses = []memoryUse{
	{
		// A mat-vec after a norm stages its input once per threadgroup.
		what:   "the normalised activations of hidden_size",
		needs:  []string{"model.hidden_size"},
		bytes:  func(s *Spec) int { return s.Model.HiddenSize*activationBytes(s) + 4*maxSimdgroups },
		blame:  []string{"model.hidden_size"},
		remedy: "only narrower models fit (activations: f16 halves them)",
	},
	{
		// Simdgroups split a row of the cache among them by column; their partial
		// scores of all heads meet here, then the probabilities of one tile.
		what:  "the attention scores of heads × tile × simdgroups",
		needs: []string{"model.num_attention_heads"},
		bytes: func(s *Spec) int {
			a := &s.Tuning.Attention
			return 4 * s.Model.NumAttentionHeads * a.Tile * (a.Simdgroups + 1)
		},
		blame:  []string{"tuning.attention.tile", "tuning.attention.simdgroups", "model.num_attention_heads"},
		remedy: "lower tuning.attention.tile or simdgroups",
	},
	{
		// The router's scores are gathered before the top k are taken.
		what:   "the scores of n_routed_experts",
		needs:  []string{"moe.n_routed_experts", "model.hidden_size"},
		bytes:  func(s *Spec) int { return 4*s.MoE.NRoutedExperts + s.Model.HiddenSize*activationBytes(s) },
		blame:  []string{"moe.n_routed_experts"},
		remedy: "only models with fewer experts or a smaller hidden_size fit",
	},
}

// activationBytes is the size of one activation between kernels.
func activationBytes(s *Spec) int {
	if s.Activations == "f16" {
		return 2
	}
	return 4
}
