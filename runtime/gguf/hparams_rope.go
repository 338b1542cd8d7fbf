package gguf

// rope reads the rotary embedding. A scaling factor of 0 means 1, as it does
// for llama.cpp.
func (r *keyReader) rope(h *HParams) {
	h.RopeTheta = r.float("rope.freq_base", 10000, 1, 1e12)
	s := &h.RopeScaling
	s.Type = optional(r, r.key("rope.scaling.type"), "linear", r.f.String)
	least := 1
	if s.Type == "" && !r.of.RopeFactors { // ollama's converter leaves these keys empty if there is no scaling
		s.Type, least = "none", 0
	}
	factor := "rope.scaling.factor"
	if _, ok := r.f.Lookup(r.key(factor)); !ok {
		factor = "rope.scale_linear" // the older name
	}
	if s.Factor = r.float(factor, 1, 0, 1e6); s.Factor == 0 {
		s.Factor = 1
	}
	const original = "rope.scaling.original_context_length"
	if s.OriginalContext = r.dim(original, h.MaxPositionEmbeddings, least, maxContext); s.OriginalContext == 0 {
		s.OriginalContext = h.MaxPositionEmbeddings
	}
	s.AttnFactor = r.float("rope.scaling.attn_factor", 1, 1e-6, 1e6)

	const multiplier = "rope.scaling.yarn_log_multiplier"
	s.LogMultiplier = r.float(multiplier, 0, -1e3, 1e3)
	_, s.HasLogMultiplier = r.f.Lookup(r.key(multiplier))

	switch {
	case s.Type == "none", s.Type == "linear", s.Type == "yarn" && !r.of.Dense && !r.of.Hybrid:
	case s.Type == "longrope" && r.of.RopeFactors:
		s.Type = "linear" // the factors are tensors; the type itself has no effect
	case r.of.Dense || r.of.Hybrid:
		r.failKey("rope.scaling.type", `is %.64q; expected "none" or "linear"`, s.Type)
	default:
		r.failKey("rope.scaling.type", `is %.64q; expected "none", "linear" or "yarn"`, s.Type)
	}
	switch {
	case s.Type == "linear" && s.Factor != 1:
		r.failKey(factor, "is %g; expected 1: a model whose positions are scaled linearly is not computed here", s.Factor)
	case s.Type != "yarn" && s.AttnFactor != 1:
		r.failKey("rope.scaling.attn_factor", "is %g; expected 1 without YaRN", s.AttnFactor)
	}
}

// temperature reads how queries scale with their position. A scale of 0 has no effect, whatever the length.
func (r *keyReader) temperature(h *HParams) {
	scale := r.float("attention.temperature_scale", 0, -1e6, 1e6)
	length := r.dim("attention.temperature_length", 0, 0, maxContext)
	switch {
	case scale == 0 || r.err != nil:
		return
	case r.of.Dense || r.of.Hybrid:
		r.failKey("attention.temperature_scale", "is %g; expected 0 in a model of architecture %s", scale, r.arch)
		return
	}
	if length == 0 {
		r.failKey("attention.temperature_length", "is 0 or missing, but attention.temperature_scale is %g; expected 1 to %d", scale, maxContext)
		return
	}
	h.Temperature = Temperature{scale, length}
}
