package spec

import (
	"fmt"

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
// in all from cols inputs each: what the spec's tuning says of it, else the default.
func (t *Tuning) ShapeFor(kernel string, rows, cols int) Shape {
	s := t.MatVec
	for _, k := range t.Kernels {
		if k.Kernel == kernel {
			s = k.Shape
		}
	}
	for _, d := range shapes {
		if rows <= d.maxRows && cols >= d.minCols {
			return s.or(d.Shape)
		}
	}
	return s // the last line has no limits
}

// WhyShape says where ShapeFor has a kernel's shape from.
func (t *Tuning) WhyShape(kernel string, rows, cols int) string {
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
	for _, k := range t.Kernels {
		if k.Kernel == kernel {
			return fmt.Sprintf("line %d of the spec, under tuning; what it leaves open is %s", k.Line, why)
		}
	}
	if t.MatVec != (Shape{}) {
		return "the spec's tuning.matvec; what it leaves open is " + why
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
