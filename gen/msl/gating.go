package msl

import (
	"fmt"

	"mla/runtime/plan"
	"mla/runtime/plan/verify"
)

// KeysPerLane returns how many experts' keys each lane holds while experts are selected.
func (v *partView) KeysPerLane() int { return ceil(verify.GatingOf(v.P).Experts, simdWidth) }

// RoutedRows returns how many rows a simdgroup routes: its share of a batch, or one.
func (v *partView) RoutedRows() int {
	if v.routesBatch() {
		return ceil(v.Width, v.Simdgroups())
	}
	return 1
}

// routesBatch reports whether the part routes all rows in one threadgroup.
func (v *partView) routesBatch() bool {
	_, ok := v.P.(*plan.RouteBatch)
	return ok
}

// RoutedRow returns the number of the r-th row that a simdgroup routes. All simdgroups have the same count,
// so the number may be past the end of the batch.
func (v *partView) RoutedRow() string { return fmt.Sprintf("sg + r * %du", v.Simdgroups()) }

// Routed returns element i of a slot for the r-th row that a simdgroup routes. Rows past the end of the batch
// read the last row.
func (v *partView) Routed(slot int, i string) string {
	if v.routesBatch() {
		i = fmt.Sprintf("min(%s, %du) * %du + %s", v.RoutedRow(), v.Width-1, v.RowStride(slot), i)
	}
	return fmt.Sprintf("%s[%s]", v.Name(slot), i)
}

// AndLive returns the condition, after others, that the r-th row exists, so that its routing is stored.
func (v *partView) AndLive() string {
	if !v.routesBatch() {
		return ""
	}
	return fmt.Sprintf(" && %s < live", v.RoutedRow())
}

// ExpertsPerGroup returns the number of experts in a group of the gating.
func (v *partView) ExpertsPerGroup() int {
	return verify.GatingOf(v.P).Experts / verify.GatingOf(v.P).Groups
}

// LastEntry returns the first threadgroup of the last entry.
func (v *partView) LastEntry() int { return (v.Entries - 1) * v.RowGroups() }

// Selections returns how many experts all rows select.
func (v *partView) Selections() int { return v.Width * v.grouping().K }

// grouping returns the grouping that the part makes or reads.
func (v *partView) grouping() *plan.Grouping {
	switch p := v.P.(type) {
	case *plan.Experts:
		return p.Grouping
	case *plan.RouteBatch:
		return &p.Grouping
	}
	return &v.P.(*plan.GroupExperts).Grouping
}

// Codes returns the length of a list of selections that is read four at a time.
func (v *partView) Codes() int { return roundUp(v.Selections(), 4) }

// Places returns how many numbers a grouping needs: the place of each selection, the start of each expert,
// and the end.
func (v *partView) Places() int { return v.Selections() + v.grouping().Experts + 1 }

// SelectionsPerSimdgroup returns how many selections a simdgroup looks at, 32 at a time.
func (v *partView) SelectionsPerSimdgroup() int {
	return roundUp(ceil(v.Selections(), v.Simdgroups()), simdWidth)
}

// ChosenAt returns where the number of the threadgroup's expert is in scratch: after a staged input.
func (v *partView) ChosenAt() int { return v.normFloats(v.P.(*plan.Experts).Norm) }

// chosenFloats is the memory for the number of the selected expert.
func chosenFloats(g *plan.Gating) int {
	if g == nil {
		return 0
	}
	return 1
}

// RowByRow reports whether a simdgroup picks the experts of one row before it makes the keys of the next.
// With 256 and more experts, the keys of all rows at once would exceed the registers of a thread in the forms
// of target.Target.Parts.
func (v *partView) RowByRow() bool { return v.parts() && v.RoutedRows()*v.KeysPerLane() > 32 }
