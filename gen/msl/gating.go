package msl

import (
	"mla/runtime/plan"
	"mla/runtime/plan/verify"
)

// KeysPerLane is how many experts each lane has while they are selected.
func (v *partView) KeysPerLane() int { return ceil(verify.GatingOf(v.P).Experts, simdWidth) }

// ExpertsPerGroup is the size of gating's groups of experts.
func (v *partView) ExpertsPerGroup() int {
	return verify.GatingOf(v.P).Experts / verify.GatingOf(v.P).Groups
}

// LastEntry is the first threadgroup of the last entry.
func (v *partView) LastEntry() int { return (v.Entries - 1) * v.RowGroups() }

// Selections is how many experts all rows select.
func (v *partView) Selections() int { return v.Width * v.grouping().K }

// grouping is that of a part that makes or takes one.
func (v *partView) grouping() *plan.Grouping {
	if p, ok := v.P.(*plan.Experts); ok {
		return p.Grouping
	}
	return &v.P.(*plan.GroupExperts).Grouping
}

// SelectionsPerSimdgroup is how many of them a simdgroup looks at, 32 at a time.
func (v *partView) SelectionsPerSimdgroup() int {
	return roundUp(ceil(v.Selections(), v.Simdgroups()), simdWidth)
}

// ChosenAt is where the threadgroup's expert is, behind a staged input.
func (v *partView) ChosenAt() int { return v.normFloats(v.P.(*plan.Experts).Norm) }

// chosenFloats is the room for the number of an expert.
func chosenFloats(g *plan.Gating) int {
	if g == nil {
		return 0
	}
	return 1
}
