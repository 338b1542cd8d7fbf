package gguf

// rope reads the rotary embedding. A scaling factor of 0 means 1, as it does
// for llama.cpp.
func (r *keyReader) rope(h *HParams) {
	h.RopeTheta = r.float("rope.freq_base", 10000, 1, 1e12)
	s := &h.RopeScaling
	s.Type = optional(r, r.key("rope.scaling.type"), "linear", r.f.String)
	s.Factor = r.float("rope.scaling.factor", r.float("rope.scale_linear", 1, 0, 1e6), 0, 1e6) // the latter is the older name
	if s.Factor == 0 {
		s.Factor = 1
	}
	s.OriginalContext = r.dim("rope.scaling.original_context_length", h.MaxPositionEmbeddings, 1, maxContext)
	s.AttnFactor = r.float("rope.scaling.attn_factor", 1, 1e-6, 1e6)

	const multiplier = "rope.scaling.yarn_log_multiplier"
	s.LogMultiplier = r.float(multiplier, 0, -1e3, 1e3)
	_, s.HasLogMultiplier = r.f.Lookup(r.key(multiplier))

	switch {
	case s.Type == "none", s.Type == "linear", s.Type == "yarn" && !r.of.Dense:
	case s.Type == "longrope" && r.of.RopeFactors:
		s.Type = "linear" // the factors are tensors; the type itself changes nothing
	case r.of.Dense:
		r.failKey("rope.scaling.type", `is %.64q; expected "none" or "linear"`, s.Type)
	default:
		r.failKey("rope.scaling.type", `is %.64q; expected "none", "linear" or "yarn"`, s.Type)
	}
}

// temperature reads by what queries grow with the position. A scale of 0 is none,
// whatever the length.
func (r *keyReader) temperature(h *HParams) {
	scale := r.float("attention.temperature_scale", 0, -1e6, 1e6)
	length := r.dim("attention.temperature_length", 0, 0, maxContext)
	switch {
	case scale == 0 || r.err != nil:
		return
	case r.of.Dense:
		r.failKey("attention.temperature_scale", "is %g; expected 0 in a model of architecture %s", scale, r.arch)
		return
	}
	if length == 0 {
		r.failKey("attention.temperature_length", "is 0 or missing, but attention.temperature_scale is %g; expected 1 to %d", scale, maxContext)
		return
	}
	h.Temperature = Temperature{scale, length}
}
