package gguf

import (
	"slices"
	"strings"

	"mla/runtime/gguf/hparams"
)

// headCountKV is the key with a number for each layer: 0 for linear attention, 1 for multi-head latent
// attention. No other key tells the layers apart.
const headCountKV = "attention.head_count_kv"

// safeGate is the key that selects the formula of the forget gate.
const safeGate = "kda.safe_gate"

// linearKeys is the keys of all hybrids. Most of them make other architectures refuse the file.
var linearKeys = []string{headCountKV, "ssm.conv_kernel", "kda.head_dim"}

// ofHybrids reports whether only hybrids have a key, by its name or by the section that it begins with.
func ofHybrids(name string) bool {
	section, _, _ := strings.Cut(name, ".")
	return section == "kda" || slices.Contains(architectures[BailingMoE3].Keys, name)
}

// hybrid reads the hyper-parameters of linear attention.
func (r *keyReader) hybrid(h *HParams) {
	if !r.of.Hybrid || r.err != nil {
		return
	}
	h.Hybrid = &hparams.Hybrid{FullAttnLayers: r.fullLayers(h)}
	r.needs(&h.Hybrid.LinearAttention, "head_dim", "short_conv_kernel_size")
	if r.of.BoundedGate {
		r.boundedGate(h.Hybrid)
	}
	shared := hparams.Parameters(&h.Hybrid.HybridExperts, "moe_shared_expert_intermediate_size")[0]
	h.Hybrid.SharedIntermediateSize = r.dim(shared.Key, 0, int(shared.Lo), int(shared.Hi))
	if h.NRoutedExperts == 0 || h.Hybrid.SharedIntermediateSize == h.NSharedExperts*h.MoEIntermediateSize {
		h.Hybrid.SharedIntermediateSize = 0 // as in a file without the key
	}
	h.Hybrid.Limits = r.limits("swiglu_clamp_exp", h, false)
	h.Hybrid.SharedLimits = r.limits("swiglu_clamp_shexp", h, true)
}

// fullLayers lists the layers with multi-head latent attention. The array has a number for each block, those
// of MTP layers included.
func (r *keyReader) fullLayers(h *HParams) (full []int) {
	r.require(headCountKV)
	counts := optional(r, r.key(headCountKV), nil, r.f.Ints)
	blocks := h.NumHiddenLayers + h.NextNLayers
	if r.err == nil && len(counts) != blocks {
		r.failKey(headCountKV, "has %d numbers; expected one for each of the %d layers: 0 for linear attention, 1 for multi-head latent attention", len(counts), blocks)
	}
	for i, n := range counts {
		switch {
		case n != 0 && n != 1:
			r.failKey(headCountKV, "is %d for layer %d; expected 0 for linear attention, or 1 for multi-head latent attention", n, i)
		case n == 1 && i < h.NumHiddenLayers:
			full = append(full, i)
		}
	}
	if r.err == nil && (len(full) == 0 || len(full) == h.NumHiddenLayers) {
		r.failKey(headCountKV, "gives %d of %d layers multi-head latent attention; expected layers of both kinds in a model of architecture %s",
			len(full), h.NumHiddenLayers, r.arch)
	}
	return full
}

// boundedGate reads which formula the forget gate has.
func (r *keyReader) boundedGate(h *hparams.Hybrid) {
	if !optional(r, r.key(safeGate), true, r.f.Bool) {
		r.failKey(safeGate, "is false; expected true: models of architecture %s without a bounded gate are not known", r.arch)
	}
	r.needs(&h.LinearAttention, "gate_lower_bound")
	if r.err == nil && h.GateLowerBound == 0 {
		r.failKey("kda.gate_lower_bound", "is 0; expected a negative number, the least logarithm of what a token keeps of the state")
	}
}

// leastLimit is the least bound that has an effect, as in llama.cpp.
const leastLimit = 1e-6

// limits reads the bounds of activations, a number for each block; nil: no bounds. The bounds of shared
// experts apply to dense layers, too, as in llama.cpp.
func (r *keyReader) limits(name string, h *HParams, shared bool) []float64 {
	list := optional(r, r.key(name), nil, r.f.Floats)
	if blocks := h.NumHiddenLayers + h.NextNLayers; r.err == nil && list != nil && len(list) != blocks {
		r.failKey(name, "has %d numbers; expected one for each of the %d layers", len(list), blocks)
	}
	if r.err != nil || list == nil {
		return nil
	}
	limits, any := make([]float64, h.NumHiddenLayers+min(h.NextNLayers, 1)), false
	for i, x := range list[:len(limits)] {
		if !(x >= 0 && x <= 1e6) {
			r.failKey(name, "is %g for layer %d; expected 0 for none, or a bound of at most 1e6", x, i)
		}
		switch dense := i < h.FirstKDenseReplace; {
		case x <= leastLimit || dense && !shared:
		case h.NRoutedExperts == 0:
			r.failKey(name, "is %g for layer %d of a model without experts; expected 0", x, i)
		default:
			limits[i], any = x, true
		}
	}
	if !any {
		return nil
	}
	return limits
}
