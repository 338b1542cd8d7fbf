package msl

import (
	"slices"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// A kernel has one body for all its variants. Attention has one more body for each type of cache with a
// matrix form, so that a device compiles only the forms that the cache of the session needs.

// attending returns the part that has matrix forms, or nil.
func attending(parts []partView) *partView {
	for i := range parts {
		if a := parts[i].Attention; a != nil && len(a.Matrix) > 0 {
			return &parts[i]
		}
	}
	return nil
}

// bodies prints the body of the plain form, or the only body, and then the bodies of the matrix forms.
func (p *printer) bodies(v *kernelView, parts []partView, floats int) {
	p.body(v, v.bodyName(nil), parts, floats)
	part := attending(parts)
	if part == nil {
		return
	}
	for i := range part.Attention.Matrix {
		m := &part.Attention.Matrix[i]
		own := slices.Clone(parts)
		attending(own).Matrix = m
		p.printf("\n// The same of a cache of %s.\n", m.Cache)
		p.body(v, v.bodyName(m), own, floats)
	}
}

// bodyName returns the name of the body for a matrix form; nil stands for the plain form or the only body.
func (k *kernelView) bodyName(m *matrixAttention) string {
	if m != nil {
		return k.Kernel.Name + "_" + m.Cache.String() + "_body"
	}
	return k.Kernel.Name + "_body"
}

// bodyOf returns the name of the body that a variant calls.
func (k *kernelView) bodyOf(variant *plan.Variant, parts []partView) string {
	part := attending(parts)
	if part == nil {
		return k.bodyName(nil)
	}
	t, _ := cacheType(k.Kernel, variant)
	return k.bodyName(part.Attention.matrix(t))
}

// floatsOf returns the threadgroup memory of a variant: for attention the memory of its form, for other
// kernels floats.
func (k *kernelView) floatsOf(variant *plan.Variant, parts []partView, floats int) int {
	part := attending(parts)
	if part == nil || len(parts) > 1 {
		return floats
	}
	t, _ := cacheType(k.Kernel, variant)
	if m := part.Attention.matrix(t); m != nil {
		return roundUp(m.floats, 4)
	}
	return roundUp(part.Attention.Floats(), 4)
}

// cacheType returns the type of a variant's cache, and whether it has one.
func cacheType(k *plan.Kernel, v *plan.Variant) (t quant.Type, ok bool) {
	i := slices.IndexFunc(k.TypedSlots(), func(slot int) bool { return k.Slots[slot].Space == plan.SpaceKV })
	if i < 0 || i >= len(v.Types) {
		return 0, false
	}
	return v.Types[i], true
}
