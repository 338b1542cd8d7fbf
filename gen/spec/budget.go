package spec

import (
	"gopkg.in/yaml.v3"

	"mla/gen/target"
)

// budget is a limit on memory or registers that one kind of kernel takes.
type budget struct {
	what, unit string
	limit      int
	needs      []string // paths of the values that used reads
	used       func(s *Spec) int
	blame      []string // paths of the values that the mistake is reported at; the first one that the file has counts
	remedy     string
}

// attentionDims are the dimensions that attention's budgets depend on.
var attentionDims = []string{"model.num_attention_heads", "model.kv_lora_rank", "model.qk_rope_head_dim"}

// attention returns what the plain form of attention takes with the smallest tile, one cache row.
func (s *Spec) attention() *target.PlainAttention {
	m := &s.Model
	a := target.PlainAttentionOf(m.NumAttentionHeads, m.KVLoraRank, m.QKRopeHeadDim, s.Tuning.Attention.Simdgroups, 1)
	return &a
}

// budgets lists the limits that checkBudgets and WithTuning apply.
var budgets = []budget{
	{
		what: "attention takes", unit: "bytes of threadgroup memory", limit: target.ThreadgroupBytes,
		needs:  attentionDims,
		used:   func(s *Spec) int { return 4 * s.attention().Floats() },
		blame:  []string{"tuning.attention.simdgroups", "model.kv_lora_rank"},
		remedy: "a smaller kv_lora_rank, fewer heads or fewer tuning.attention.simdgroups fit",
	},
	{
		what: "attention keeps", unit: "sums in the registers of a thread", limit: target.MaxRegisters,
		needs:  attentionDims[:2],
		used:   func(s *Spec) int { return s.attention().Sums },
		blame:  []string{"tuning.attention.simdgroups", "model.num_attention_heads"},
		remedy: "more tuning.attention.simdgroups share the work",
	},
	{
		what: "attention keeps", unit: "floats of queries in the registers of a thread", limit: target.MaxRegisters,
		needs:  attentionDims,
		used:   func(s *Spec) int { return s.attention().Queries },
		blame:  []string{"tuning.attention.simdgroups", "model.num_attention_heads"},
		remedy: "more tuning.attention.simdgroups share the work",
	},
	{
		what: "the combine of the splits takes", unit: "bytes of threadgroup memory", limit: target.ThreadgroupBytes,
		needs: []string{"model.kv_lora_rank"},
		used: func(s *Spec) int {
			return 4 * (s.Model.KVLoraRank + target.CombineFloats(s.Model.KVLoraRank, s.Tuning.Attention.Splits, 1))
		},
		blame:  []string{"tuning.attention.splits", "model.kv_lora_rank"},
		remedy: "fewer tuning.attention.splits fit",
	},
	{
		what: "the choice of experts takes", unit: "bytes of threadgroup memory", limit: target.ThreadgroupBytes,
		needs: []string{"moe.n_routed_experts", "moe.num_experts_per_tok", "model.hidden_size"},
		used: func(s *Spec) int {
			return 4 * target.GatingFloats(s.Model.HiddenSize, s.MoE.NRoutedExperts, s.MoE.NumExpertsPerTok, s.MoE.NGroup)
		},
		blame:  []string{"moe.n_routed_experts"},
		remedy: "fewer experts fit",
	},
}

// first returns the value at the first of the paths that the file has, or an empty node if it has none of
// them.
func (d *decoder) first(paths []string) *yaml.Node {
	for _, p := range paths {
		if n := d.at[p]; n != nil {
			return n
		}
	}
	return &yaml.Node{}
}
