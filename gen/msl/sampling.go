package msl

import (
	"fmt"

	"mla/runtime/plan"
	"mla/runtime/plan/verify"
)

// pickFloats is the threadgroup memory that picking from a given number of blocks takes: bins of
// counts and three limbs, two words per thread or block and per 32 of them, and two results.
func pickFloats(blocks, threads int) int {
	sums := ceil(max(blocks, threads), simdWidth)
	return 4*verify.PickBins + 2*(sums*simdWidth+sums) + 2
}

// NoPick is the row of a pick that there is not.
func (v *partView) NoPick() string { return fmt.Sprint(uint32(plan.PickNone)) }

// PickTurns is for how many steps picked tokens are kept, those of all rows of a batch each.
func (v *partView) PickTurns() int { return plan.PickTurns }
