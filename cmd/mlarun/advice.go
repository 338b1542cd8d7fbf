package main

import (
	"fmt"

	"mla/runtime/engine"
)

// advice returns the remedies if a model does not fit into the available memory. fits is the longest context
// that fits; 0: none does.
func (f *flags) advice(need engine.Memory, fits int) string {
	available := engine.Available()
	weights := need.File + need.Copies
	switch {
	case need.OnDevice:
		return "a file of another quantisation may need no conversion; -force tries anyway"
	case weights > available:
		return tooBig(weights, available)
	case weights+need.Buffers > available:
		return "a smaller -width needs smaller buffers; -force tries anyway"
	}
	smaller := map[string]string{"f32": ", and -kv f16 or q8_0 half or a quarter of the cache", "f16": ", and -kv q8_0 half of the cache"}[f.kv]
	if fits > 0 {
		return fmt.Sprintf("-c %d fits%s; -force tries anyway", fits, smaller)
	}
	return "a smaller -c needs less" + smaller + "; -force tries anyway"
}

// tooBig returns the remedies if the weights alone do not fit.
func tooBig(weights, available int64) string {
	return fmt.Sprintf("the weights alone take %s, so neither -c nor -kv helps: a file of a smaller quantisation fits, of at most %s, or a machine with more memory; -force tries anyway, and reads the rest from the disk for every token",
		engine.Size(weights), engine.Size(available*9/10))
}
