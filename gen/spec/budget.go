package spec

import (
	"slices"

	"gopkg.in/yaml.v3"
)

// What a threadgroup and a thread have; see templates/msl for what the kernels
// keep there.
const (
	maxMemory    = 32768 // bytes of threadgroup memory
	maxRegisters = 256   // floats of one array that a thread keeps in registers
	maxStage     = 4096  // normalised inputs staged at a time, in floats
)

// budget bounds what one kind of kernel takes for itself.
type budget struct {
	what, unit string
	limit      int
	needs      []string // values that used depends on
	used       func(s *Spec) int
	blame      []string // where the mistake is reported: the first that the file has
	remedy     string
}

var budgets = []budget{
	{
		// One cache row, the simdgroups' shares of its scores, its softmax weights,
		// and maximum, sum and shrinkage of every head.
		what: "attention takes", unit: "bytes of threadgroup memory", limit: maxMemory,
		needs: []string{"model.num_attention_heads", "model.kv_lora_rank", "model.qk_rope_head_dim"},
		used: func(s *Spec) int {
			m := &s.Model
			return 4 * (m.KVLoraRank + m.QKRopeHeadDim + m.NumAttentionHeads*(s.Tuning.Attention.Simdgroups+4))
		},
		blame:  []string{"tuning.attention.simdgroups", "model.kv_lora_rank"},
		remedy: "a smaller kv_lora_rank, fewer heads or fewer tuning.attention.simdgroups fit",
	},
	{
		// A thread keeps the sums of its latent columns for every head.
		what: "attention keeps", unit: "sums in the registers of a thread", limit: maxRegisters,
		needs: []string{"model.num_attention_heads", "model.kv_lora_rank"},
		used: func(s *Spec) int {
			return ceil(s.Model.KVLoraRank, simdgroup*s.Tuning.Attention.Simdgroups) * s.Model.NumAttentionHeads
		},
		blame:  []string{"tuning.attention.simdgroups", "model.num_attention_heads"},
		remedy: "more tuning.attention.simdgroups share the work",
	},
	{
		// A simdgroup deals its lanes over heads (a power of two of them) and columns;
		// a thread keeps its columns of the queries of its heads.
		what: "attention keeps", unit: "floats of queries in the registers of a thread", limit: maxRegisters,
		needs: []string{"model.num_attention_heads", "model.kv_lora_rank", "model.qk_rope_head_dim"},
		used: func(s *Spec) int {
			m, lanes := &s.Model, 1
			for lanes < min(m.NumAttentionHeads, simdgroup) {
				lanes *= 2
			}
			columns := ceil(m.KVLoraRank+m.QKRopeHeadDim, s.Tuning.Attention.Simdgroups*(simdgroup/lanes))
			return columns * ceil(m.NumAttentionHeads, lanes)
		},
		blame:  []string{"tuning.attention.simdgroups", "model.num_attention_heads"},
		remedy: "more tuning.attention.simdgroups share the work",
	},
	{
		// The combined latent and the factors of the splits.
		what: "the combine of the splits takes", unit: "bytes of threadgroup memory", limit: maxMemory,
		needs: []string{"model.kv_lora_rank"},
		used: func(s *Spec) int {
			return 4 * (s.Model.KVLoraRank + ceil(s.Tuning.Attention.Splits, simdgroup)*simdgroup)
		},
		blame:  []string{"tuning.attention.splits", "model.kv_lora_rank"},
		remedy: "fewer tuning.attention.splits fit",
	},
	{
		// The staged input, two scores per expert, one per group, the choice.
		what: "the choice of experts takes", unit: "bytes of threadgroup memory", limit: maxMemory,
		needs: []string{"moe.n_routed_experts", "moe.num_experts_per_tok", "model.hidden_size"},
		used: func(s *Spec) int {
			e := s.MoE
			return 4 * (min(s.Model.HiddenSize, maxStage) + maxSimdgroups + 2*e.NRoutedExperts + 2*e.NumExpertsPerTok + e.NGroup)
		},
		blame:  []string{"moe.n_routed_experts"},
		remedy: "fewer experts fit",
	},
}

// AttentionSimdgroups is the number of simdgroups that the attention of s takes
// unless a spec says otherwise: the default, or in models of many heads the
// least multiple of it by a power of two with which all of it fits.
func AttentionSimdgroups(s *Spec) int {
	try := *s
	try.Tuning = DefaultTuning
	a := &try.Tuning.Attention
	tooMuch := func(b budget) bool {
		return b.blame[0] == "tuning.attention.simdgroups" && b.used(&try) > b.limit
	}
	for ; a.Simdgroups <= maxSimdgroups; a.Simdgroups *= 2 {
		if !slices.ContainsFunc(budgets, tooMuch) {
			return a.Simdgroups
		}
	}
	return DefaultTuning.Attention.Simdgroups // none fits, as Parse will report
}

func ceil(a, b int) int { return (a + b - 1) / b }

// first returns the first of the values that the file has.
func (d *decoder) first(paths []string) *yaml.Node {
	for _, p := range paths {
		if n := d.at[p]; n != nil {
			return n
		}
	}
	return &yaml.Node{}
}
