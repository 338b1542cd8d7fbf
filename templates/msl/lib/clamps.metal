// SwiGLU of models that bound both of its factors: that of the gate from above and behind silu, that of up on both sides.
static inline float bounded_swiglu(float gate, float up, float limit) { return min(gate, limit) * clamp(up, -limit, limit); }
