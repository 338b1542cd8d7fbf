package main

import (
	"slices"
	"testing"

	"mla/runtime/plan"
)

// TestDeepPositions wants the edges of splits: the first tile's, where one begins to have
// two tiles, and where the last split gets its first row.
func TestDeepPositions(t *testing.T) {
	s := plan.Splits{Count: 128, Tile: 16}
	n := allSplits(s)
	if first, last := (n-1)/s.Per(n), (n-2)/s.Per(n-1); n != 4065 || first != 127 || last != 126 {
		t.Errorf("%d rows: the last one is in split %d, the one before in %d", n, first, last)
	}
	b := &plan.Bundle{Kernels: []plan.Kernel{{Parts: []plan.Part{&plan.Attend{Splits: s}}}, {Parts: []plan.Part{&plan.Attend{Splits: s}}}}}
	if got := deepPositions(b); !slices.Equal(got, []int{15, 16, 1024, 4064, 4073}) {
		t.Errorf("positions %v", got)
	}
}
