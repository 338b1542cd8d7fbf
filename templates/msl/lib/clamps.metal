// SwiGLU for models that bound both factors: silu(gate) from above, up on both sides.
static inline float bounded_swiglu(float gate, float up, float limit) { return min(gate, limit) * clamp(up, -limit, limit); }
