package msl

import (
	"fmt"

	"mla/runtime/plan"
	"mla/runtime/plan/verify"
)

// pickFloats returns the threadgroup memory of picking from a number of blocks, in floats: bins with counts
// and three limbs, two words per thread or block and per 32 of them, and two results.
func pickFloats(blocks, threads int) int {
	sums := ceil(max(blocks, threads), simdWidth)
	return 4*verify.PickBins + 2*(sums*simdWidth+sums) + 2
}

// NoPick returns the row number that marks an unused pick.
func (v *partView) NoPick() string { return fmt.Sprint(uint32(plan.PickNone)) }

// PickTurns returns for how many steps picked tokens are kept, those of all rows of a batch per step.
func (v *partView) PickTurns() int { return plan.PickTurns }
