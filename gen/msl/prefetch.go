package msl

import (
	"fmt"
	"slices"

	"mla/runtime/plan"
)

// PrefetchL2 returns the hint to load a simdgroup's rows, or its slice of them, of the weight in a slot into
// the L2 cache.
func (v *partView) PrefetchL2(slot int, rows string) string {
	return v.fetch("PREFETCH_L2", slot, rows)
}

// PrefetchL1 returns the hint to load the same into the L1 cache.
func (v *partView) PrefetchL1(slot int, rows string) string {
	return v.fetch("PREFETCH_L1", slot, rows)
}

func (v *partView) fetch(macro string, slot int, rows string) string {
	_, cols := matrix(v.P)
	if p, ok := v.P.(*plan.ExpertsSum); ok && slot == p.Shared {
		cols = p.SharedCols
	}
	bytes := fmt.Sprintf("%du * %s::row_bytes(%du)", v.N, v.Tag(slot), cols)
	if n := v.Slices(); n > 1 {
		bytes += fmt.Sprintf(" / %du", n)
		rows += " + slice * (" + bytes + ")"
	}
	return fmt.Sprintf("%s(%s, %s);", macro, rows, bytes)
}

// AttentionNext reports whether a kernel with the cache write also makes the absorbed queries. Then the next
// dispatch is attention, which loads no weights and may start early.
func (k *kernelView) AttentionNext() bool {
	return slices.ContainsFunc(k.Parts, func(p plan.Part) bool {
		m, ok := p.(*plan.MatVec)
		return ok && m.Batch > 1
	})
}
