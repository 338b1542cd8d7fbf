package spec

import (
	"testing"

	"mla/gen/target"
)

// TestAnyWidth checks that names of shapes for sequences of one width are distinguished from names of
// kernels.
func TestAnyWidth(t *testing.T) {
	for _, c := range []struct {
		name, kernel string
		width        int
		ok           bool
	}{{"down_x2", "down", 2, true}, {"q_a_x_x16", "q_a_x", 16, true}, {"down", "down", 1, false}, {"down_x", "down_x", 1, false}, {"down_x1", "down_x1", 1, false},
		{"down_x02", "down_x02", 1, false}, {"down_x-2", "down_x-2", 1, false}, {"_x2", "_x2", 1, false}, {"down_x2_y", "down_x2_y", 1, false}, {"down_x99999999999999999999", "down_x99999999999999999999", 1, false}} {
		if kernel, width, ok := AnyWidth(c.name); kernel != c.kernel || width != c.width || ok != c.ok {
			t.Errorf("%s: %s, %d, %t", c.name, kernel, width, ok)
		}
	}
}

// TestShapeOfWidth checks that a shape of one width takes missing values from the kernel's shape, and that
// one from the default, in any order in the file. Other widths do not use it.
func TestShapeOfWidth(t *testing.T) {
	s := parseTuned(t, `tuning:
  kernels:
    down_x2: {split_k: 1}
    down: {rows_per_simdgroup: 8, simdgroups: 4, unroll: 2}
  devices:
    nvidia:
      kernels:
        down_x4: {rows_per_simdgroup: 2}
`)
	for _, c := range []struct {
		class string
		width int
		want  Shape
	}{{"", 1, Shape{RowsPerSimdgroup: 8, Simdgroups: 4, SplitK: 4, Unroll: 2}}, {"", 2, Shape{RowsPerSimdgroup: 8, Simdgroups: 4, SplitK: 1, Unroll: 2}}, {"", 4, Shape{RowsPerSimdgroup: 8, Simdgroups: 4, SplitK: 4, Unroll: 2}}, {"nvidia", 2, Shape{RowsPerSimdgroup: 8, Simdgroups: 4, SplitK: 1, Unroll: 2}}, {"nvidia", 4, Shape{RowsPerSimdgroup: 2, Simdgroups: 4, SplitK: 4, Unroll: 2}}} {
		tuning := s.WithClass(c.class).Tuning
		if got := target.For(c.class).MatVec(tuning.ShapeOf("down", c.width), 2048, 2048); got != c.want {
			t.Errorf("%q, %d rows: %+v; expected %+v", c.class, c.width, got, c.want)
		}
		if k := tuning.Of("down", c.width); k == nil || k.Line == 0 {
			t.Errorf("%q, %d rows: no line of the file", c.class, c.width)
		}
	}
}

// TestFew: which kernels of few rows are those of one row.
func TestFew(t *testing.T) {
	tuning := parseTuned(t, `tuning:
  kernels:
    down: {rows_per_simdgroup: 8}
    down_x4: {rows_per_simdgroup: 8}
    down_x8: {rows_per_simdgroup: 8}
`).Tuning
	for _, c := range []struct {
		kernel string
		width  int
		takes  bool
	}{{"down", 2, true}, {"o_proj", 2, true}, {"down", 3, false}, {"down", 4, true}, {"o_proj", 4, false}, {"down", 8, false}} {
		if got := target.For("").TakesInputs(c.width, tuning.OfWidth(c.kernel, c.width) != nil); got != c.takes {
			t.Errorf("%s of %d rows: %t", c.kernel, c.width, got)
		}
	}
}
