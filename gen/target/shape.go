package target

import (
	"fmt"

	"mla/runtime/plan"
)

// Shape is the shape of a mat-vec threadgroup. In a tuning a zero leaves the choice to MatVec.
type Shape struct {
	RowsPerSimdgroup int
	Simdgroups       int // of a threadgroup
	SplitK           int // simdgroups that share the columns of a row; divides Simdgroups
	Unroll           int // blocks of a row that are under way at a time; half as many of each of two matrices
}

// Over is s, and general in what s leaves out.
func (s Shape) Over(general Shape) Shape {
	OrElse(&s.RowsPerSimdgroup, general.RowsPerSimdgroup)
	OrElse(&s.Simdgroups, general.Simdgroups)
	OrElse(&s.SplitK, general.SplitK)
	OrElse(&s.Unroll, general.Unroll)
	return s
}

// OrElse gives a value that is left out another.
func OrElse(value *int, other int) {
	if *value == 0 {
		*value = other
	}
}

// or takes what s leaves open from d.
func (s Shape) or(d Shape) Shape {
	if s.Simdgroups == 0 && s.SplitK > 0 && d.Simdgroups%s.SplitK != 0 {
		s.Simdgroups = s.SplitK
	}
	s = s.Over(d)
	for s.Simdgroups%s.SplitK != 0 {
		s.SplitK-- // a default that does not suit the tuning's simdgroups
	}
	return s
}

// matVec is the shape of kernels of at most maxRows results of at least minCols inputs each.
type matVec struct {
	maxRows, minCols int
	Shape
}

// matVecs are the shapes by the size of a kernel's matrices: the first whose limits hold.
var matVecs = table[[]matVec]{
	{"", []matVec{
		{4096, 1024, Shape{2, 4, 4, plan.DefaultUnroll}},
		{32768, 512, Shape{4, 4, 2, plan.DefaultUnroll}},
		{1 << 62, 0, Shape{4, 4, 1, plan.DefaultUnroll}},
	}, Source{Estimated, "", "2026-11-21", "a GPU wants some thousand simdgroups with loads under way"}},
}

// matVec is the row for a size.
func (t Target) matVec(rows, cols int) *matVec {
	list := matVecs.of(t.class).is
	for i := range list {
		if rows <= list[i].maxRows && cols >= list[i].minCols {
			return &list[i]
		}
	}
	return &list[len(list)-1] // it has no limits
}

// MatVec is the shape of the threadgroups of a kernel that makes rows results in all from cols
// inputs each: what a tuning says of it, and what that leaves open by the table.
func (t Target) MatVec(tuned Shape, rows, cols int) Shape {
	return tuned.or(t.matVec(rows, cols).Shape)
}

// WhyMatVec says why MatVec gives what a tuning leaves open.
func (t Target) WhyMatVec(rows, cols int) string {
	why := fmt.Sprintf("the default for this number of results (%d, of %d inputs each): %s", rows, cols, matVecs.of(t.class).from.Found)
	if d := t.matVec(rows, cols); d.SplitK > 1 {
		why += fmt.Sprintf(", so where there are at most %d results, %d simdgroups share each", d.maxRows, d.SplitK)
	}
	return why
}

// Sequences of few rows run kernels of one row, which hardly wait for anything but their weights,
// where that beats products in simdgroup matrices: those pass inputs through threadgroup memory,
// step by step, and of eight inputs that a block has most would be copies.

// few is up to how many rows that is so.
type few struct {
	inputs      int // every mat-vec decodes its weights once for the inputs of all rows
	namedInputs int // the same of those that a tuning names for sequences of that many rows
	experts     int // each row has threadgroups of its own for its experts
	combines    int // each row has them for the mat-vec that combines its splits of attention
}

var fews = table[few]{
	{"", few{inputs: 2, namedInputs: 4, experts: 4, combines: 4},
		Source{Measured, h200, "2026-11-27", "of eight rows none pays: o_proj of DeepSeek-V2-Lite 3.8 µs instead of 2.8, the router and shared experts 10 instead of 5.5 (H100). " +
			"Experts by row or grouped, tok/s: four rows of GLM-4.7-Flash 1,251 and 1,181, of DeepSeek-V2-Lite 1,951 and 1,901 (H100), eight 1,852 and 1,926, 2,509 and 2,791 (H200)"}},
}

// TakesInputs says whether a mat-vec of a number of rows is that of one row, with the inputs of all
// rows. named: a tuning names it for sequences of that many.
func (t Target) TakesInputs(width int, named bool) bool {
	f := fews.of(t.class).is
	return width <= f.inputs || width <= f.namedInputs && named
}

// ExpertsApart says whether each of a number of rows has threadgroups of its own for its experts: few
// are selected by few rows, and what routes and sums needs no dispatch.
func (t Target) ExpertsApart(width int) bool { return width <= fews.of(t.class).is.experts }

// CombinesApart is the same of the mat-vec that combines the splits of attention.
func (t Target) CombinesApart(width int) bool { return width <= fews.of(t.class).is.combines }

// FewShape is the shape of a kernel of one row for the inputs of several rows: a lane of a simdgroup
// for each result.
func FewShape(s Shape, width int) Shape {
	s.RowsPerSimdgroup = min(s.RowsPerSimdgroup, SimdWidth/width/2*2)
	return s
}

// WhyFew says why a kernel of several rows that no tuning names is that of one row.
func (t Target) WhyFew(width int) string {
	return fmt.Sprintf("as of one row, for the inputs of %d, which do not pay for matrices; %s", width, &fews.of(t.class).from)
}
