package msl

import (
	"fmt"

	"mla/runtime/plan"
	"mla/runtime/plan/verify"
)

// KeysPerLane is how many experts each lane has while they are selected.
func (v *partView) KeysPerLane() int { return ceil(verify.GatingOf(v.P).Experts, simdWidth) }

// RoutedRows is how many rows a simdgroup routes: its share of a batch, or the one that the text is about.
func (v *partView) RoutedRows() int {
	if v.routesBatch() {
		return ceil(v.Width, v.Simdgroups())
	}
	return 1
}

// routesBatch says whether the part routes all rows in one threadgroup.
func (v *partView) routesBatch() bool {
	_, ok := v.P.(*plan.RouteBatch)
	return ok
}

// RoutedRow is the r-th of a simdgroup's rows of a batch. All simdgroups have as many; after the batch's
// last row there is none.
func (v *partView) RoutedRow() string { return fmt.Sprintf("sg + r * %du", v.Simdgroups()) }

// Routed is element i of a slot, of the r-th row that a simdgroup routes; instead of none it is the last.
func (v *partView) Routed(slot int, i string) string {
	if v.routesBatch() {
		i = fmt.Sprintf("min(%s, %du) * %du + %s", v.RoutedRow(), v.Width-1, v.RowStride(slot), i)
	}
	return fmt.Sprintf("%s[%s]", v.Name(slot), i)
}

// AndLive is what else has to hold where the routing of the r-th row is stored.
func (v *partView) AndLive() string {
	if !v.routesBatch() {
		return ""
	}
	return fmt.Sprintf(" && %s < live", v.RoutedRow())
}

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
	switch p := v.P.(type) {
	case *plan.Experts:
		return p.Grouping
	case *plan.RouteBatch:
		return &p.Grouping
	}
	return &v.P.(*plan.GroupExperts).Grouping
}

// Codes is the length of a list of them that is read by fours.
func (v *partView) Codes() int { return roundUp(v.Selections(), 4) }

// Places is how many numbers group them: the place of each, where each expert's begin, and the end.
func (v *partView) Places() int { return v.Selections() + v.grouping().Experts + 1 }

// SelectionsPerSimdgroup is how many of them a simdgroup looks at, 32 at a time.
func (v *partView) SelectionsPerSimdgroup() int {
	return roundUp(ceil(v.Selections(), v.Simdgroups()), simdWidth)
}

// ChosenAt is where the threadgroup's expert is, after a staged input.
func (v *partView) ChosenAt() int { return v.normFloats(v.P.(*plan.Experts).Norm) }

// chosenFloats is the memory for the number of an expert.
func chosenFloats(g *plan.Gating) int {
	if g == nil {
		return 0
	}
	return 1
}

// RowByRow says whether a simdgroup picks the experts of one row before it makes the keys of the next one: with the keys of
// all rows at once, of 256 experts and more, its lanes would need more registers than the budget of such a class.
func (v *partView) RowByRow() bool { return v.parts() && v.RoutedRows()*v.KeysPerLane() > 32 }
