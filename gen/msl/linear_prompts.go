package msl

import (
	"fmt"

	"mla/runtime/plan"
)

// Linear attention of prompts: templates/msl/parts/delta_vectors.msl, delta_columns.msl and
// delta_fold.msl, with the files of lib of the same names.

// deltaRowsView is the data of the template that prepares the delta rule's inputs, for rows or for chunks.
type deltaRowsView struct {
	*partView
	p *plan.DeltaRows
}

// deltaRowsOf returns the part's inputs of the delta rule; nil if the part prepares none.
func deltaRowsOf(p plan.Part) *plan.DeltaRows {
	switch p := p.(type) {
	case *plan.DeltaVectors:
		return &p.DeltaRows
	case *plan.DeltaChunks:
		return &p.DeltaRows
	}
	return nil
}

// DeltaRows returns the part as one that prepares the delta rule's inputs.
func (v *partView) DeltaRows() deltaRowsView { return deltaRowsView{v, deltaRowsOf(v.P)} }

// Rows returns how many rows of a session are taken at a time.
func (d deltaRowsView) Rows() int { return plan.DeltaPiece }

// Type returns the struct whose functions are the steps.
func (d deltaRowsView) Type() string {
	return fmt.Sprintf("delta_vectors<%du, %du, %du>", d.p.Dim, d.p.Taps, d.Rows())
}

// Chunk returns the struct that makes the products of a chunk; "" if the part stores the rows' vectors
// instead.
func (d deltaRowsView) Chunk() string {
	if _, ok := d.P.(*plan.DeltaChunks); ok {
		return fmt.Sprintf("delta_chunk<%du, %du>", d.p.Dim, d.Rows())
	}
	return ""
}

// Law returns the struct with the formula of the decay.
func (d deltaRowsView) Law() string { return decayLaw(d.p.Bound) }

// WindowsAt is where the convolution windows begin in a layer's state, and WindowFloats the size of one
// head's window.
func (d deltaRowsView) WindowsAt() int    { return plan.StateOf(d.P).Windows() }
func (d deltaRowsView) WindowFloats() int { return d.p.Dim * (d.p.Taps - 1) }

// vectorFloats is a sum for each simdgroup and row.
func (v *partView) vectorFloats() int { return v.Simdgroups() * plan.DeltaPiece }

// chunkFloats is three vectors for each row, two numbers (of A and M) for each pair of rows, one number for
// each row, and vectorFloats.
func (v *partView) chunkFloats() int {
	return plan.DeltaPiece*(3*deltaRowsOf(v.P).Dim+2*plan.DeltaPiece+1) + v.vectorFloats()
}

// deltaFold is the data of the template of the delta rule in chunks.
type deltaFold struct {
	*partView
	p *plan.DeltaFold
}

// DeltaFold returns the part as the delta rule in chunks.
func (v *partView) DeltaFold() deltaFold { return deltaFold{v, v.P.(*plan.DeltaFold)} }

// Rows returns the largest number of rows of a chunk.
func (d deltaFold) Rows() int { return plan.DeltaPiece }

// Type returns the struct whose functions are the steps.
func (d deltaFold) Type() string {
	return fmt.Sprintf("delta_fold<%du, %du, %du, %du, %du>", d.p.Dim, d.p.Columns, d.Rows(), d.Simdgroups(), d.p.Lanes)
}

// Groups and GroupsOfHead are the numbers of threadgroups of a session and of a head.
func (d deltaFold) Groups() int       { return d.p.Groups() }
func (d deltaFold) GroupsOfHead() int { return d.p.Groups() / d.p.Heads }

// foldFloats is the threadgroup memory of a chunk, in floats.
func (v *partView) foldFloats() int { return 3 * plan.DeltaPiece * v.P.(*plan.DeltaFold).Dim }

// deltaColumns is the data of the template of the delta rule row by row.
type deltaColumns struct {
	*partView
	p *plan.DeltaColumns
}

// DeltaColumns returns the part as the delta rule row by row.
func (v *partView) DeltaColumns() deltaColumns { return deltaColumns{v, v.P.(*plan.DeltaColumns)} }

// columnRows is the largest number of rows taken at a time: with heads of 128 columns, three vectors of each
// row take 12 of 32 KiB of threadgroup memory.
const columnRows = 8

// Rows returns how many rows of a session are taken at a time.
func (d deltaColumns) Rows() int { return columnRows }

// Type returns the struct whose functions are the steps.
func (d deltaColumns) Type() string {
	return fmt.Sprintf("delta_columns<%du, %du, %du, %du>", d.p.Dim, d.p.Columns, d.Rows(), d.Simdgroups())
}

// Groups and GroupsOfHead are the numbers of threadgroups of a session and of a head.
func (d deltaColumns) Groups() int       { return d.p.Groups() }
func (d deltaColumns) GroupsOfHead() int { return d.p.Groups() / d.p.Heads }

// columnFloats is the threadgroup memory of columnRows rows, in floats.
func (v *partView) columnFloats() int {
	p := v.P.(*plan.DeltaColumns)
	return columnRows * (3*p.Dim + p.Columns + 1)
}
