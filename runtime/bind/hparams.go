package bind

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"mla/runtime/gguf"
	"mla/runtime/plan"
)

// hyperParameters compares the metadata of f with the dimensions of b.
func hyperParameters(f *gguf.File, b *plan.Bundle) []Mismatch {
	h, err := gguf.ReadHParams(f)
	if err != nil {
		return []Mismatch{{What: "metadata", Found: err.Error(), Expected: "a model of architecture " + strings.Join(gguf.Architectures(), " or ")}}
	}
	m := &b.Model
	dense := m.DenseLayers()
	if m.NextN > 0 { // it has none of them
		dense = h.FirstKDenseReplace
	}
	list := []parameter{
		{"architecture", h.Architecture, m.Architecture},
		{"vocab_size", h.VocabSize, m.VocabSize},
		{"hidden_size", h.HiddenSize, m.HiddenSize},
		{"num_hidden_layers", h.NumHiddenLayers, cmp.Or(m.NextN, m.NumHiddenLayers)},
		{"num_attention_heads", h.NumAttentionHeads, m.NumAttentionHeads},
		{"q_lora_rank", h.QLoraRank, m.QLoraRank},
		{"kv_lora_rank", h.KVLoraRank, m.KVLoraRank},
		{"qk_nope_head_dim", h.QKNopeHeadDim, m.QKNopeHeadDim},
		{"qk_rope_head_dim", h.QKRopeHeadDim, m.QKRopeHeadDim},
		{"v_head_dim", h.VHeadDim, m.VHeadDim},
		{"rms_norm_eps", h.RMSNormEps, m.RMSNormEps},
		{"temperature.scale", h.Temperature.Scale, m.Temperature.Scale},
		{"temperature.length", h.Temperature.Length, m.Temperature.Length},
		{"tie_word_embeddings", h.TiedEmbeddings, m.TieWordEmbeddings},
		{"first_k_dense_replace", h.FirstKDenseReplace, dense},
		{"n_routed_experts", h.NRoutedExperts, m.MoE.NRoutedExperts},
	}
	if m.NextN == 0 && h.FirstKDenseReplace > 0 {
		list = append(list, parameter{"intermediate_size", h.IntermediateSize, m.IntermediateSize})
	}
	list = append(list, ropeParameters(&h, &m.Rope)...)
	if h.NRoutedExperts > 0 && m.MoE.NRoutedExperts > 0 {
		list = append(list, expertParameters(&h, &m.MoE)...)
	}
	var out []Mismatch
	for _, p := range list {
		if !p.equal() {
			out = append(out, Mismatch{What: p.name, Found: p.show(p.found), Expected: p.show(p.expected)})
		}
	}
	return out
}

// ropeParameters compares what rotary angles and the attention scale depend on.
// A YaRN factor of 1 is no scaling at all, whatever its other constants.
func ropeParameters(h *gguf.HParams, want *plan.Rope) []parameter {
	s := h.RopeScaling
	found := plan.Rope{Yarn: s.Type == "yarn" && s.Factor != 1, Factor: s.Factor, OriginalContext: s.OriginalContext, AttnFactor: s.AttnFactor}
	if s.Type == "none" {
		found.Factor = 1
	}
	if s.HasLogMultiplier {
		found.MScaleAllDim = s.LogMultiplier / 0.1
	}
	expected := *want
	expected.Yarn = want.Yarn && want.Factor != 1
	list := []parameter{
		{"rope_theta", h.RopeTheta, want.Theta},
		{"rope_scaling.type", scaling(&found), scaling(&expected)},
		{"rope_scaling.factor", found.Factor, expected.Factor},
		{"rope_scaling.attn_factor", found.AttnFactor, expected.AttnFactor},
	}
	if found.Yarn && expected.Yarn {
		list = append(list,
			parameter{"rope_scaling.original_max_position_embeddings", found.OriginalContext, expected.OriginalContext},
			parameter{"rope_scaling.mscale_all_dim", found.MScaleAllDim, expected.MScaleAllDim})
	}
	return list
}

// scaling is how positions are stretched, under the file format's names.
func scaling(r *plan.Rope) string {
	switch {
	case r.Yarn:
		return "yarn"
	case r.Factor != 1:
		return "linear"
	}
	return "none"
}

func expertParameters(h *gguf.HParams, want *plan.MoE) []parameter {
	list := []parameter{
		{"num_experts_per_tok", h.NumExpertsPerTok, want.NumExpertsPerTok},
		{"n_shared_experts", h.NSharedExperts, want.NSharedExperts},
		{"moe_intermediate_size", h.MoEIntermediateSize, want.MoEIntermediateSize},
		{"scoring_func", h.ScoringFunc, want.ScoringFunc},
		{"e_score_correction_bias", h.SelectionBias, want.SelectionBias},
		{"norm_topk_prob", h.NormTopKProb, want.NormTopKProb},
		{"routed_scaling_factor", orOne(h.RoutedScalingFactor), orOne(want.RoutedScalingFactor)},
		{"n_group", max(h.NGroup, 1), max(want.NGroup, 1)},
	}
	if h.NGroup > 1 {
		list = append(list, parameter{"topk_group", h.TopKGroup, want.TopKGroup})
	}
	return list
}

// orOne reads a scaling factor, of which 0 means 1.
func orOne(x float64) float64 {
	if x == 0 {
		return 1
	}
	return x
}

// parameter is one hyper-parameter as found in a file and as compiled.
type parameter struct {
	name            string
	found, expected any
}

// floatTolerance is relative. Files store float32, specs decimal numbers, and
// mscale_all_dim is stored as a tenth: a few float32 roundings of 6e-8.
const floatTolerance = 1e-6

func (p parameter) equal() bool {
	if x, ok := p.found.(float64); ok {
		y := p.expected.(float64)
		return math.Abs(x-y) <= floatTolerance*max(math.Abs(x), math.Abs(y))
	}
	return p.found == p.expected
}

func (parameter) show(v any) string {
	if x, ok := v.(float64); ok {
		return fmt.Sprintf("%.7g", x)
	}
	return fmt.Sprint(v)
}
