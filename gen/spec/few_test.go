package spec

import (
	"testing"
)

// TestFew: which kernels of few rows are those of one row, and how many rows of weights a simdgroup has.
func TestFew(t *testing.T) {
	for _, c := range []struct {
		width, rows, cols int
		takes             bool
	}{
		{2, 12288, 2048, true},  // gate and up of Youtu-LLM
		{2, 128256, 2048, true}, // its head
		{4, 12288, 2048, true},
		{4, 128256, 2048, false},
		{4, 10240, 192, true}, // k_b of GLM-4.7-Flash
		{3, 2048, 6144, true},
		{5, 64, 64, false},
		{16, 2048, 6144, false},
	} {
		if got := TakesInputs(c.width, c.rows, c.cols); got != c.takes {
			t.Errorf("%d rows of %d results of %d: %t", c.width, c.rows, c.cols, got)
		}
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
