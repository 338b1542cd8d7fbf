package msl

import (
	"fmt"

	"mla/runtime/plan"
	"mla/runtime/plan/verify"
)

// Mat-vecs that take the inputs of a few rows: the text of one row, whose lanes decode their weights
// once and multiply each input by them. Lane r + N i finishes row r of the weights for input i.

// Inputs is how many inputs a mat-vec's lanes multiply.
func (v *partView) Inputs() int {
	if m := v.Product; m != nil && m.Tokens > 0 && !verify.Matrices(v.P) {
		return m.Tokens
	}
	return 1
}

// Sums is how many results a simdgroup has, of all inputs.
func (v *partView) Sums() int { return v.N * v.Inputs() }

// RowOf is which of a simdgroup's rows of weights a lane finishes, if it finishes one.
func (v *partView) RowOf() string {
	if v.Inputs() > 1 {
		return fmt.Sprintf("lane %% %du", v.N)
	}
	return "lane"
}

// InputOfRows is the input of a mat-vec, or the inputs of all rows.
func (v *partView) InputOfRows(in plan.Vec, entry string) string {
	one := v.Input(in, entry)
	if v.Inputs() == 1 {
		return one
	}
	return fmt.Sprintf("in_rows<%s, %d, %du>{%s}", v.InputKind(in), v.Inputs(), v.RowStride(in.Slot), one)
}

// AllSquares is the sum of the squares of the lane's input.
func (v *partView) AllSquares() string {
	of := "squares"
	switch several := v.Inputs() > 1; {
	case v.Slices() > 1 && several:
		of = fmt.Sprintf("total<%du>(slices + %du + batch_row * %du)", v.Simdgroups(), v.SquaresAt(), v.Simdgroups())
	case v.Slices() > 1:
		of = fmt.Sprintf("total<%du>(slices + %du)", v.Simdgroups(), v.SquaresAt())
	case several:
		of = "own_squares"
	}
	return of
}
