package msl

import (
	"fmt"

	"mla/runtime/plan"
)

// Linear attention of prompts: templates/msl/parts/delta_vectors.msl, delta_columns.msl and
// delta_fold.msl, with the files of lib of the same names.

// deltaRowsView is what makes vectors of rows, or all of a chunk of them, as its template sees it.
type deltaRowsView struct {
	*partView
	p *plan.DeltaRows
}

// deltaRowsOf is the rows that a part makes vectors of; nil: it makes none.
func deltaRowsOf(p plan.Part) *plan.DeltaRows {
	switch p := p.(type) {
	case *plan.DeltaVectors:
		return &p.DeltaRows
	case *plan.DeltaChunks:
		return &p.DeltaRows
	}
	return nil
}

// DeltaRows is the part as such.
func (v *partView) DeltaRows() deltaRowsView { return deltaRowsView{v, deltaRowsOf(v.P)} }

// Rows is how many rows of a session a piece has at most.
func (d deltaRowsView) Rows() int { return plan.DeltaPiece }

// Type is the struct that has the steps.
func (d deltaRowsView) Type() string {
	return fmt.Sprintf("delta_vectors<%du, %du, %du>", d.p.Dim, d.p.Taps, d.Rows())
}

// Chunk is the struct that makes a chunk of them; "": the rows are handed on.
func (d deltaRowsView) Chunk() string {
	if _, ok := d.P.(*plan.DeltaChunks); ok {
		return fmt.Sprintf("delta_chunk<%du, %du>", d.p.Dim, d.Rows())
	}
	return ""
}

// Law is the type of what makes the decay.
func (d deltaRowsView) Law() string { return decayLaw(d.p.Bound) }

// WindowsAt is where the windows are in a layer's state, and WindowFloats the size of a head's window of one kind.
func (d deltaRowsView) WindowsAt() int    { return plan.StateOf(d.P).Windows() }
func (d deltaRowsView) WindowFloats() int { return d.p.Dim * (d.p.Taps - 1) }

// vectorFloats are a sum of each simdgroup and row.
func (v *partView) vectorFloats() int { return v.Simdgroups() * plan.DeltaPiece }

// chunkFloats are three vectors of each row, a number for each two rows of A and M, and one for each row beside them.
func (v *partView) chunkFloats() int {
	return plan.DeltaPiece*(3*deltaRowsOf(v.P).Dim+2*plan.DeltaPiece+1) + v.vectorFloats()
}

// deltaFold is the delta rule by chunks as its template sees it.
type deltaFold struct {
	*partView
	p *plan.DeltaFold
}

// DeltaFold is the part as such.
func (v *partView) DeltaFold() deltaFold { return deltaFold{v, v.P.(*plan.DeltaFold)} }

// Rows is how many rows a chunk has at most.
func (d deltaFold) Rows() int { return plan.DeltaPiece }

// Type is the struct that has the steps.
func (d deltaFold) Type() string {
	return fmt.Sprintf("delta_fold<%du, %du, %du, %du, %du>", d.p.Dim, d.p.Columns, d.Rows(), d.Simdgroups(), d.p.Lanes)
}

// Groups is how many threadgroups a session has, GroupsOfHead how many of them are a head's.
func (d deltaFold) Groups() int       { return d.p.Groups() }
func (d deltaFold) GroupsOfHead() int { return d.p.Groups() / d.p.Heads }

// foldFloats is the threadgroup memory of a chunk.
func (v *partView) foldFloats() int { return 3 * plan.DeltaPiece * v.P.(*plan.DeltaFold).Dim }

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
