package hparams

import "slices"

// Hybrid is the hyper-parameters of models in which most layers have linear attention: Kimi Delta Attention
// (KDA, arXiv 2510.26692), a recurrence with a state of fixed size. The other layers have multi-head latent
// attention.
type Hybrid struct {
	LinearAttention
	FullAttnLayers []int // numbers of the layers with multi-head latent attention, from 0 and rising
	HybridExperts
}

// LinearAttention is the dimensions of layers with linear attention. They have as many heads as the other
// layers.
type LinearAttention struct {
	HeadDim             int     `hf:"head_dim" gguf:"kda.head_dim" range:"1 1024"`                // of keys and of values
	ShortConvKernelSize int     `hf:"short_conv_kernel_size" gguf:"ssm.conv_kernel" range:"2 16"` // the taps of the causal convolution
	GateLowerBound      float64 `hf:"gate_lower_bound" gguf:"kda.gate_lower_bound" range:"-1e4 0" spec:"optional"`
}

// HybridExperts is the hyper-parameters of experts beyond those of MoE.
type HybridExperts struct {
	// SharedIntermediateSize is the width of all shared experts together; 0: the width of MoE.
	SharedIntermediateSize int `hf:"moe_shared_expert_intermediate_size" gguf:"expert_shared_feed_forward_length" range:"0 1048576" spec:"optional"`
	// Limits bounds silu(gate) from above, and up on both sides, in the experts of each layer; 0: no bound in
	// that layer. SharedLimits is the same for shared experts and for dense layers. A list is nil if no layer
	// has a bound. In a model with an MTP layer, the lists have an element for it at their end.
	Limits, SharedLimits []float64
}

// Of returns the parameters for the layers [first, last) only, as a model of its own.
func (e HybridExperts) Of(first, last int) HybridExperts {
	for _, limits := range []*[]float64{&e.Limits, &e.SharedLimits} {
		*limits = slices.Clone((*limits)[min(first, len(*limits)):min(last, len(*limits))])
		if !slices.ContainsFunc(*limits, func(x float64) bool { return x > 0 }) {
			*limits = nil
		}
	}
	return e
}

// Linear says whether a layer has linear attention.
func (h *Hybrid) Linear(layer int) bool { return h != nil && !slices.Contains(h.FullAttnLayers, layer) }

// Limit is the bound of a layer's experts, or of its shared experts; 0: none.
func (h *Hybrid) Limit(layer int, shared bool) float64 {
	if h == nil {
		return 0
	}
	limits := h.Limits
	if shared {
		limits = h.SharedLimits
	}
	if layer >= len(limits) {
		return 0
	}
	return limits[layer]
}
