package msl

import "mla/runtime/plan"

// gatingOf returns the gating that a part runs, or nil.
func gatingOf(p plan.Part) *plan.Gating {
	switch p := p.(type) {
	case *plan.Experts:
		return p.Gating
	case *plan.RouteVec:
		return &p.Gating
	}
	return nil
}

// KeysPerLane is how many experts each lane has while they are selected.
func (v *partView) KeysPerLane() int { return ceil(gatingOf(v.P).Experts, simdWidth) }

// ExpertsPerGroup is the size of gating's groups of experts.
func (v *partView) ExpertsPerGroup() int { return gatingOf(v.P).Experts / gatingOf(v.P).Groups }

// LastEntry is the first threadgroup of the last entry.
func (v *partView) LastEntry() int { return (v.Entries - 1) * v.RowGroups() }

// ChosenAt is where the threadgroup's expert is, behind a staged input.
func (v *partView) ChosenAt() int { return v.normFloats(v.P.(*plan.Experts).Norm) }

// chosenFloats is the room for the number of an expert.
func chosenFloats(g *plan.Gating) int {
	if g == nil {
		return 0
	}
	return 1
}
