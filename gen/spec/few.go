package spec

import (
	"fmt"
)

// Sequences of few rows run kernels of one row, which hardly wait for anything but their weights,
// where that beats products in simdgroup matrices: those pass inputs through threadgroup memory, step by
// step, and of eight inputs that a block has most would be copies. Measured on NVIDIA GPUs
// (docs/performance.md).

// Up to allInputs rows every mat-vec decodes its weights once for the inputs of all rows. Up to
// someInputs those do that a spec's tuning names for sequences of so many rows. Of eight rows none pays:
// o_proj of DeepSeek-V2-Lite takes 3.8 µs instead of 2.8, the router and shared experts 10 instead of 5.5, on an
// NVIDIA H100.
const (
	allInputs  = 2
	someInputs = 4
)

// apartExperts is up to how many rows each row has threadgroups of its own for its experts: few are
// selected by few rows, and what routes and sums needs no dispatch. On an NVIDIA H100 four rows of
// GLM-4.7-Flash ran at 1,251 tok/s, grouped by experts at 1,181, of DeepSeek-V2-Lite at 1,951 and 1,901; on
// an H200 eight at 1,852 and 1,926, and at 2,509 and 2,791.
const apartExperts = 4

// apartCombines is the same of the mat-vec that combines the splits of attention, of all classes.
const apartCombines = 4

// TakesInputs says whether a mat-vec of so many rows is that of one row, with the inputs of all rows.
func (t *Tuning) TakesInputs(kernel string, width int) bool {
	return width <= allInputs || width <= someInputs && t.named(ofWidth(kernel, width)) != nil
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
func (t *Tuning) WhyFew(kernel string, width int) string {
	if width > allInputs {
		return fmt.Sprintf("as of one row, for the inputs of %d: line %d of the spec, under tuning", width, t.named(ofWidth(kernel, width)).Line)
	}
	return fmt.Sprintf("as of one row, for the inputs of %d, which do not pay for matrices; measured on an NVIDIA H200", width)
}
