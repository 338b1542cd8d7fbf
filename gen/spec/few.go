package spec

import (
	"fmt"
)

// Sequences of few rows run the kernels of one row, which hardly wait for anything but their weights,
// where that beats products in simdgroup matrices: those pass inputs through threadgroup memory, step by
// step, and of eight inputs that a block has most would be copies. Measured on an NVIDIA H200
// (docs/performance.md).

// takesInputs are up to how many rows a mat-vec of at most so many weights decodes them once for the
// inputs of all rows; with more weights instructions are what takes the time, of which matrices need
// fewer. In the order of rows; none: always matrices.
var takesInputs = []struct{ rows, weights int }{
	{2, 1 << 30}, // all
	{4, 1 << 26}, // all but a head
}

// apartExperts is up to how many rows each row has threadgroups of its own for its experts: few are
// selected by two rows, and what routes and sums needs no dispatch. On an NVIDIA H200 four rows of GLM-4.7-Flash ran at 1,193 tok/s, grouped by experts at 1,073, of
// DeepSeek-V2-Lite at 1,955 and 1,714; eight at 1,852 and 1,926, and at 2,509 and 2,791.
const apartExperts = 4

// apartCombines is the same of the mat-vec that combines the splits of attention, of all classes.
const apartCombines = 4

// TakesInputs says whether a mat-vec of so many results, of so many inputs each, is that of one row, with
// the inputs of all rows.
func TakesInputs(width, rows, cols int) bool {
	for _, t := range takesInputs {
		if width <= t.rows {
			return rows*cols <= t.weights
		}
	}
	return false
}

// ExpertsApart and CombinesApart say whether each of so many rows has threadgroups of its own for its
// experts, and for the mat-vec that combines its attention.
func ExpertsApart(width int) bool { return width <= apartExperts }

func CombinesApart(width int) bool { return width <= apartCombines }

// FewShape is the shape of a kernel of one row for the inputs of so many: a lane of a simdgroup for each
// result.
func FewShape(s Shape, width int) Shape {
	s.RowsPerSimdgroup = min(s.RowsPerSimdgroup, simdgroup/width/2*2)
	return s
}

// WhyFew says why a kernel of several rows is that of one row.
func WhyFew(width, rows, cols int) string {
	return fmt.Sprintf("as of one row, for the inputs of %d: %d results of %d inputs each do not pay for matrices; measured on an NVIDIA H200", width, rows, cols)
}
