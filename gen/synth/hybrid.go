package synth

import (
	"mla/gen/spec"
	"mla/gen/weights"
	"mla/runtime/gguf"
	"mla/runtime/gguf/hparams"
)

// hybrid adds the keys that say which layers have linear attention, and its dimensions.
func (l *metaList) hybrid(s *spec.Spec) {
	h := s.Hybrid
	if h == nil {
		return
	}
	counts := make([]int32, s.Model.NumHiddenLayers+s.Model.NumNextNPredictLayers)
	for layer := range counts {
		if layer == s.Model.NumHiddenLayers || !h.Linear(layer) { // the multi-token-prediction layer, too, has no linear attention
			counts[layer] = 1
		}
	}
	l.own("attention.head_count_kv", gguf.Int32s(counts))
	bounded := gguf.ArchitectureOf(s.Architecture).BoundedGate
	for _, p := range hparams.Parameters(&h.LinearAttention) {
		if bounded || p.Name != "gate_lower_bound" {
			l.parameter(&p)
		}
	}
	if bounded {
		l.own("kda.safe_gate", gguf.Bool(true))
	}
	if n := h.SharedIntermediateSize; n > 0 {
		l.count("expert_shared_feed_forward_length", n)
	}
	l.limits("swiglu_clamp_exp", h.Limits)
	l.limits("swiglu_clamp_shexp", h.SharedLimits)
}

// limits adds the bounds of activations, if there are any.
func (l *metaList) limits(key string, limits []float64) {
	if limits == nil {
		return
	}
	var list []float32
	for _, x := range limits {
		list = append(list, float32(x))
	}
	l.own(key, gguf.Float32s(list))
}

// decayRate is the distribution of A of linear attention: exp(A_log), near 1. The files of architectures
// without a bounded gate have it negated.
func decayRate(s *spec.Spec) distribution {
	if gguf.ArchitectureOf(s.Architecture).BoundedGate {
		return distribution{1, 0.1}
	}
	return distribution{-1, 0.1}
}

// distribute is distributionOf with the weights of linear attention, whose distributions depend on the spec.
func distribute(s *spec.Spec, row *weights.Row) distribution {
	switch row.Role {
	case weights.LinearA:
		return decayRate(s)
	case weights.LinearDT:
		return distribution{0, 0.1}
	}
	return distributionOf(row)
}
