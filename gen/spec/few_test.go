package spec

import (
	"strings"
	"testing"
)

// TestAnyWidth: names of shapes in sequences of one width are told from those of kernels.
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

// TestShapeOfWidth: a shape of one width has what it leaves out from the kernel's, and that from the default,
// in whatever order they stand; other widths do not have it.
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
	}{{"", 1, Shape{8, 4, 4, 2}}, {"", 2, Shape{8, 4, 1, 2}}, {"", 4, Shape{8, 4, 4, 2}}, {"nvidia", 2, Shape{8, 4, 1, 2}}, {"nvidia", 4, Shape{2, 4, 4, 2}}} {
		tuning := s.WithClass(c.class).Tuning
		if got := tuning.ShapeFor("down", c.width, 2048, 2048); got != c.want {
			t.Errorf("%q, %d rows: %+v; expected %+v", c.class, c.width, got, c.want)
		}
		if why := tuning.WhyShape("down", c.width, 2048, 2048); !strings.HasPrefix(why, "line ") {
			t.Errorf("%q, %d rows: %s", c.class, c.width, why)
		}
	}
}

// TestFew: which kernels of few rows are those of one row, and how many rows of weights a simdgroup has.
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
		if got := tuning.TakesInputs(c.kernel, c.width); got != c.takes {
			t.Errorf("%s of %d rows: %t", c.kernel, c.width, got)
		}
	}
	if why := tuning.WhyFew("down", 4); !strings.Contains(why, "line ") {
		t.Error(why)
	}
	for width, want := range map[int]int{2: 8, 3: 8, 4: 8, 5: 6} {
		if got := FewShape(Shape{RowsPerSimdgroup: 8, Simdgroups: 4, SplitK: 2}, width); got.RowsPerSimdgroup != want || got.SplitK != 2 {
			t.Errorf("%d rows: %+v", width, got)
		}
	}
	if !CombinesApart(1) || CombinesApart(16) {
		t.Error("one row is by itself, sixteen are not")
	}
	if !ExpertsApart(4) || ExpertsApart(8) {
		t.Error("four rows are by themselves with their experts, eight are not")
	}
}
