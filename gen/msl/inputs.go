package msl

import (
	"fmt"

	"mla/runtime/plan"
	"mla/runtime/plan/verify"
)

// Mat-vecs for the inputs of a few rows of a sequence. Their text is that of one row, but lanes decode their
// weights once and multiply them by each input. Lane r + N i finishes row r of the weights for input i.

// Inputs returns how many inputs a mat-vec's lanes multiply by their weights.
func (v *partView) Inputs() int {
	if m := v.Product; m != nil && m.Tokens > 0 && !verify.Matrices(v.P) {
		return m.Tokens
	}
	return 1
}

// Sums returns how many results a simdgroup has, for all inputs.
func (v *partView) Sums() int { return v.N * v.Inputs() }

// RowOf returns which of its simdgroup's rows of weights a lane finishes, if it finishes one.
func (v *partView) RowOf() string {
	if v.Inputs() > 1 {
		return fmt.Sprintf("lane %% %du", v.N)
	}
	return "lane"
}

// InputOfRows returns the input of a mat-vec, or the inputs of all rows.
func (v *partView) InputOfRows(in plan.Vec, entry string) string {
	one := v.Input(in, entry)
	if v.Inputs() == 1 {
		return one
	}
	return fmt.Sprintf("in_rows<%s, %d, %du>{%s}", v.InputKind(in), v.Inputs(), v.RowStride(in.Slot), one)
}

// AllSquares returns the sum of the squares of the input whose result the lane finishes.
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
