package msl

import (
	"slices"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// A kernel has one body for all its variants, but for attention: where the matrix form
// serves caches of halves, these have a body of their own, so that nobody compiles the form
// that no cache of the file takes.

// matrixPart returns the part that has the matrix form, or nil.
func matrixPart(parts []partView) *plan.Attend {
	for i := range parts {
		if a := parts[i].Attention; a != nil && a.Matrix != nil {
			return parts[i].P.(*plan.Attend)
		}
	}
	return nil
}

// bodies prints the body, or both.
func (p *printer) bodies(v *kernelView, parts []partView, floats int) {
	p.body(v, parts, floats)
	if matrixPart(parts) == nil {
		return
	}
	parts = slices.Clone(parts)
	for i := range parts {
		parts[i].Halves = parts[i].Attention != nil
	}
	p.line("\n// The same of a cache of halves.")
	p.body(v, parts, floats)
}

// bodyName is the name of the body of parts.
func (k *kernelView) bodyName(halves bool) string {
	if halves {
		return k.Kernel.Name + "_halves_body"
	}
	return k.Kernel.Name + "_body"
}

// bodyOf is the name of the body that a variant calls.
func (k *kernelView) bodyOf(variant *plan.Variant, parts []partView) string {
	a := matrixPart(parts)
	return k.bodyName(a != nil && variant.Types[slices.Index(k.TypedSlots(), a.Cache.Slot)] == quant.F16)
}
