package gguf

import "fmt"

// feedForward reads the width of the dense layers and, if any layer has experts, the router's parameters.
func (r *keyReader) feedForward(h *HParams) {
	r.needs(&h.Dims, "intermediate_size")
	if r.of.Dense {
		h.FirstKDenseReplace = h.NumHiddenLayers
		return
	}
	width := r.need("expert_feed_forward_length", 0, maxWidth)
	shared := r.need("expert_shared_count", 0, maxExperts)
	experts := r.dim("expert_count", 0, 0, maxExperts)
	h.FirstKDenseReplace = min(r.dim("leading_dense_block_count", 0, 0, maxLayers), h.NumHiddenLayers)
	if r.err != nil || h.FirstKDenseReplace == h.NumHiddenLayers {
		return
	}
	if experts == 0 {
		r.failKey("expert_count", "is 0 or missing, but leading_dense_block_count leaves layers %d to %d to experts",
			h.FirstKDenseReplace, h.NumHiddenLayers-1)
		return
	}
	if width == 0 {
		r.failKey("expert_feed_forward_length", "is 0; expected at least 1")
	}
	h.NRoutedExperts, h.NSharedExperts, h.MoEIntermediateSize = experts, shared, width
	h.NumExpertsPerTok = r.need("expert_used_count", 1, experts)
	r.router(h)
	r.groups(h)
	first := fmt.Sprintf("blk.%d.", h.FirstKDenseReplace)
	if h.NextNOnly {
		first = fmt.Sprintf("blk.%d.", h.NumHiddenLayers)
	}
	h.SelectionBias = r.hasTensor(first + "exp_probs_b.bias")
	h.FusedGateUp = r.hasTensor(first + "ffn_gate_up_exps.weight")
}

// Values of the key expert_gating_func. A missing key means 0.
const (
	gatingUnset = iota
	gatingSoftmax
	gatingSigmoid
)

func (r *keyReader) router(h *HParams) {
	switch gating := r.dim("expert_gating_func", gatingUnset, 0, maxWidth); gating {
	case gatingUnset:
		if r.of.Hybrid {
			r.require("expert_gating_func")
		}
		h.ScoringFunc = defaultScoring(h.NumHiddenLayers, h.VocabSize)
	case gatingSoftmax:
		h.ScoringFunc = "softmax"
	case gatingSigmoid:
		h.ScoringFunc = "sigmoid"
	default:
		r.failKey("expert_gating_func", "is %d; expected 1 (softmax) or 2 (sigmoid)", gating)
	}
	h.NormTopKProb = optional(r, r.key("expert_weights_norm"), false, r.f.Bool) || r.of.NormTopK
	h.RoutedScalingFactor = r.float("expert_weights_scale", 0, 0, 1e6)
	if h.RoutedScalingFactor == 0 { // as in a file without the key
		h.RoutedScalingFactor = 1
	}
}

// defaultScoring recognises GLM-4.7-Flash, by its layers and vocabulary, in files without expert_gating_func:
// early conversions lack the key.
func defaultScoring(layers, vocab int) string {
	if (layers == 47 || layers == 48) && vocab == 154880 {
		return "sigmoid"
	}
	return "softmax"
}

// groups reads the group-limited routing of DeepSeek-V2: a group is scored by
// its best two experts, and only the best groups take part.
func (r *keyReader) groups(h *HParams) {
	h.NGroup = max(1, r.dim("expert_group_count", 1, 0, maxExperts))
	if h.NGroup == 1 {
		r.dim("expert_group_used_count", 1, 0, maxExperts) // the key may exist, but has no effect
		h.TopKGroup = 1
		return
	}
	h.TopKGroup = r.need("expert_group_used_count", 1, h.NGroup)
	size := h.NRoutedExperts / h.NGroup
	if size*h.NGroup != h.NRoutedExperts || size < 2 {
		r.failKey("expert_group_count", "is %d; expected a divisor of expert_count, which is %d, with 2 experts or more in a group",
			h.NGroup, h.NRoutedExperts)
	}
	if h.NumExpertsPerTok > h.TopKGroup*size {
		r.failKey("expert_used_count", "is %d, more than the %d experts in %d groups", h.NumExpertsPerTok, h.TopKGroup*size, h.TopKGroup)
	}
}
