package target

import (
	"fmt"

	"mla/runtime/plan"
)

// Shape is the shape of a mat-vec threadgroup. A zero in a tuning means that Target.MatVec chooses.
type Shape struct {
	RowsPerSimdgroup int
	Simdgroups       int // of a threadgroup
	SplitK           int // simdgroups that share the columns of a row; divides Simdgroups
	Unroll           int // blocks of a row that a lane has in flight; half as many for each of two matrices
}

// Over returns s with zeros replaced by the values of general.
func (s Shape) Over(general Shape) Shape {
	OrElse(&s.RowsPerSimdgroup, general.RowsPerSimdgroup)
	OrElse(&s.Simdgroups, general.Simdgroups)
	OrElse(&s.SplitK, general.SplitK)
	OrElse(&s.Unroll, general.Unroll)
	return s
}

// OrElse sets a value that is 0 to other.
func OrElse(value *int, other int) {
	if *value == 0 {
		*value = other
	}
}

// or returns s with zeros replaced by the values of d, changed where they do not fit those of s.
func (s Shape) or(d Shape) Shape {
	if s.Simdgroups == 0 && s.SplitK > 0 && d.Simdgroups%s.SplitK != 0 {
		s.Simdgroups = s.SplitK
	}
	s = s.Over(d)
	for s.Simdgroups%s.SplitK != 0 {
		s.SplitK-- // the default does not divide the tuning's simdgroups
	}
	return s
}

// matVec is the shape of kernels with at most maxRows results of at least minCols inputs each.
type matVec struct {
	maxRows, minCols int
	Shape
}

// matVecs are the shapes by size of a kernel's matrices. The first row whose limits hold counts.
var matVecs = table[[]matVec]{
	{"", []matVec{
		{4096, 1024, Shape{2, 4, 4, plan.DefaultUnroll}},
		{32768, 512, Shape{4, 4, 2, plan.DefaultUnroll}},
		{1 << 62, 0, Shape{4, 4, 1, plan.DefaultUnroll}},
	}, Source{Estimated, "", "2026-11-21", "a GPU wants some thousand simdgroups with loads under way"}},
}

// matVec returns the row of matVecs for a size.
func (t Target) matVec(rows, cols int) *matVec {
	list := matVecs.of(t.class).is
	for i := range list {
		if rows <= list[i].maxRows && cols >= list[i].minCols {
			return &list[i]
		}
	}
	return &list[len(list)-1] // the last row has no limits
}

// MatVec returns the shape of the threadgroups of a kernel with rows results of cols inputs each: what a
// tuning gives, and matVecs for the rest.
func (t Target) MatVec(tuned Shape, rows, cols int) Shape {
	return tuned.or(t.matVec(rows, cols).Shape)
}

// WhyMatVec gives the reason for what MatVec chooses.
func (t Target) WhyMatVec(rows, cols int) string {
	why := fmt.Sprintf("the default for this number of results (%d, of %d inputs each): %s", rows, cols, matVecs.of(t.class).from.Found)
	if d := t.matVec(rows, cols); d.SplitK > 1 {
		why += fmt.Sprintf(", so where there are at most %d results, %d simdgroups share each", d.maxRows, d.SplitK)
	}
	return why
}

// Sequences of few rows use the mat-vecs of one row if these beat products in simdgroup matrices. Mat-vecs
// wait for hardly anything but their weights. Products pass inputs through threadgroup memory step by step,
// and a block needs eight inputs, most of which would be copies.

// few has the largest numbers of rows that do so.
type few struct {
	inputs      int // all mat-vecs: they decode weights once for the inputs of all rows
	namedInputs int // the same for mat-vecs that a tuning names for this width
	experts     int // experts: each row has threadgroups of its own
	combines    int // mat-vecs that combine splits of attention: each row has threadgroups of its own
}

var fews = table[few]{
	{"", few{inputs: 2, namedInputs: 4, experts: 4, combines: 4},
		Source{Measured, h200, "2026-11-27", "of eight rows none pays: o_proj of DeepSeek-V2-Lite 3.8 µs instead of 2.8, the router and shared experts 10 instead of 5.5 (H100). " +
			"Experts by row or grouped, tok/s: four rows of GLM-4.7-Flash 1,251 and 1,181, of DeepSeek-V2-Lite 1,951 and 1,901 (H100), eight 1,852 and 1,926, 2,509 and 2,791 (H200)"}},
}

// TakesInputs reports whether a mat-vec of width rows is the mat-vec of one row, run with the inputs of all
// rows. named: a tuning names it for this width.
func (t Target) TakesInputs(width int, named bool) bool {
	f := fews.of(t.class).is
	return width <= f.inputs || width <= f.namedInputs && named
}

// ExpertsApart reports whether each of width rows has threadgroups of its own for its experts. Few rows share
// few experts, and routing and summing then need no dispatch.
func (t Target) ExpertsApart(width int) bool { return width <= fews.of(t.class).is.experts }

// CombinesApart reports whether each of width rows has threadgroups of its own for the mat-vec that combines
// splits of attention.
func (t Target) CombinesApart(width int) bool { return width <= fews.of(t.class).is.combines }

// FewShape returns the shape of a mat-vec for the inputs of width rows. Each result needs a lane of the
// simdgroup to finish it.
func FewShape(s Shape, width int) Shape {
	s.RowsPerSimdgroup = min(s.RowsPerSimdgroup, SimdWidth/width/2*2)
	return s
}

// WhyFew gives the reason why a kernel of several rows, which no tuning names, is the mat-vec of one row.
func (t Target) WhyFew(width int) string {
	return fmt.Sprintf("as of one row, for the inputs of %d, which do not pay for matrices; %s", width, &fews.of(t.class).from)
}
