package spec

import (
	"fmt"
	"strconv"
	"strings"

	"mla/runtime/plan"
)

// Shape is the shape of a mat-vec threadgroup. In a spec's tuning a zero leaves
// the choice to ShapeFor.
type Shape struct {
	RowsPerSimdgroup int
	Simdgroups       int // of a threadgroup
	SplitK           int // simdgroups that share the columns of a row; divides Simdgroups
	Unroll           int // blocks of a row that are under way at a time; half as many of each of two matrices
}

// shapes are the defaults by the size of a kernel's matrices: the first line whose
// limits hold. A GPU wants some thousand simdgroups with loads under way: where
// there are few rows, several simdgroups share each.
var shapes = []struct {
	maxRows, minCols int
	Shape
}{
	{4096, 1024, Shape{2, 4, 4, plan.DefaultUnroll}},
	{32768, 512, Shape{4, 4, 2, plan.DefaultUnroll}},
	{1 << 62, 0, Shape{4, 4, 1, plan.DefaultUnroll}},
}

// ShapeFor is the shape of the threadgroups of a kernel that makes rows results
// in all from cols inputs each, in a sequence of width rows: what the spec's tuning says of it,
// else the default.
func (t *Tuning) ShapeFor(kernel string, width, rows, cols int) Shape {
	s := t.MatVec
	if k := t.entry(kernel, width); k != nil {
		s = k.Shape
	}
	for _, d := range shapes {
		if rows <= d.maxRows && cols >= d.minCols {
			return s.or(d.Shape)
		}
	}
	return s // the last line has no limits
}

// ofWidth is the name of a kernel's shape in sequences of so many rows alone, as such a kernel is
// called.
func ofWidth(kernel string, width int) string { return fmt.Sprintf("%s_x%d", kernel, width) }

// AnyWidth takes a name from tuning apart: a kernel, and the width whose sequences alone it is for,
// if it is such a name. Else the kernel is all of it, and the width 1.
func AnyWidth(name string) (kernel string, width int, ok bool) {
	if i := strings.LastIndex(name, "_x"); i > 0 {
		width, err := strconv.Atoi(name[i+2:])
		if kernel = name[:i]; err == nil && width > 1 && name == ofWidth(kernel, width) {
			return kernel, width, true
		}
	}
	return name, 1, false
}

// entry is what tuning says of a kernel, of this width before any; nil: nothing.
func (t *Tuning) entry(kernel string, width int) *KernelShape {
	if k := t.named(ofWidth(kernel, width)); k != nil {
		return k
	}
	return t.named(kernel)
}

// WhyShape says where ShapeFor has a kernel's shape from.
func (t *Tuning) WhyShape(kernel string, width, rows, cols int) string {
	why := ""
	for _, d := range shapes {
		if rows <= d.maxRows && cols >= d.minCols {
			why = fmt.Sprintf("the default for so many results (%d, of %d inputs each): a GPU wants some thousand simdgroups with loads under way", rows, cols)
			if d.SplitK > 1 {
				why += fmt.Sprintf(", so where there are at most %d results, %d simdgroups share each", d.maxRows, d.SplitK)
			}
			break
		}
	}
	if k := t.entry(kernel, width); k != nil {
		return fmt.Sprintf("line %d of the spec, under tuning; what it leaves open is %s", k.Line, why)
	}
	return why
}

// or takes what s leaves open from d.
func (s Shape) or(d Shape) Shape {
	if s.Simdgroups == 0 && s.SplitK > 0 && d.Simdgroups%s.SplitK != 0 {
		s.Simdgroups = s.SplitK
	}
	s = s.over(d)
	for s.Simdgroups%s.SplitK != 0 {
		s.SplitK-- // a default that does not suit the spec's simdgroups
	}
	return s
}
