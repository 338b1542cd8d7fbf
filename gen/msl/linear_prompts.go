package msl

import (
	"fmt"

	"mla/runtime/plan"
)

// Linear attention of prompts: templates/msl/parts/delta_vectors.msl and delta_columns.msl, with the files of lib of the
// same names.

// deltaVectors is what makes the vectors of the delta rule, as its template sees it.
type deltaVectors struct {
	*partView
	p *plan.DeltaVectors
}

// DeltaVectors is the part as such.
func (v *partView) DeltaVectors() deltaVectors { return deltaVectors{v, v.P.(*plan.DeltaVectors)} }

// Rows is how many rows of a session a piece has at most.
func (d deltaVectors) Rows() int { return plan.DeltaPiece }

// Type is the struct that has the steps.
func (d deltaVectors) Type() string {
	return fmt.Sprintf("delta_vectors<%du, %du, %du>", d.p.Dim, d.p.Taps, d.Rows())
}

// Law is the type of what makes the decay.
func (d deltaVectors) Law() string { return decayLaw(d.p.Bound) }

// WindowsAt is where the windows are in a layer's state, and WindowFloats the size of a head's window of one kind.
func (d deltaVectors) WindowsAt() int    { return plan.StateOf(d.p).Windows() }
func (d deltaVectors) WindowFloats() int { return d.p.Dim * (d.p.Taps - 1) }

// vectorFloats are a sum of each simdgroup and row.
func (v *partView) vectorFloats() int { return v.Simdgroups() * plan.DeltaPiece }

// deltaColumns is the delta rule as its template sees it.
type deltaColumns struct {
	*partView
	p *plan.DeltaColumns
}

// DeltaColumns is the part as such.
func (v *partView) DeltaColumns() deltaColumns { return deltaColumns{v, v.P.(*plan.DeltaColumns)} }

// columnRows is the most rows of a piece: of 128 columns three vectors of each take 12 of 32 KiB of threadgroup memory.
const columnRows = 8

// Rows is how many rows of a session a piece has at most.
func (d deltaColumns) Rows() int { return columnRows }

// Type is the struct that has the steps.
func (d deltaColumns) Type() string {
	return fmt.Sprintf("delta_columns<%du, %du, %du, %du>", d.p.Dim, d.p.Columns, d.Rows(), d.Simdgroups())
}

// Groups is how many threadgroups a session has, GroupsOfHead how many of them are a head's.
func (d deltaColumns) Groups() int       { return d.p.Groups() }
func (d deltaColumns) GroupsOfHead() int { return d.p.Groups() / d.p.Heads }

// columnFloats is the threadgroup memory of a piece.
func (v *partView) columnFloats() int {
	p := v.P.(*plan.DeltaColumns)
	return columnRows * (3*p.Dim + p.Columns + 1)
}
