package initspec

import (
	"strconv"
	"strings"

	"mla/runtime/gguf/hparams"
)

// hybrid writes the keys that only hybrid models have: the rest of moe, and the section linear_attn_config.
func (w *writer) hybrid(h *hparams.Hybrid) {
	if n := h.SharedIntermediateSize; n > 0 {
		w.line("  moe_shared_expert_intermediate_size: %d", n)
	}
	w.limits("swiglu_limits", h.Limits)
	w.limits("swiglu_limits_shared", h.SharedLimits)
	w.line("\nlinear_attn_config:")
	var full []string
	for _, l := range h.FullAttnLayers {
		full = append(full, strconv.Itoa(l+1)) // from 1, as in the Hugging Face configuration
	}
	w.line("  full_attn_layers: [%s]", strings.Join(full, ", "))
	w.parameters(&h.LinearAttention)
}

func (w *writer) limits(key string, limits []float64) {
	if limits == nil {
		return
	}
	var list []string
	for _, x := range limits {
		list = append(list, number(x))
	}
	w.line("  %s: [%s]", key, strings.Join(list, ", "))
}
