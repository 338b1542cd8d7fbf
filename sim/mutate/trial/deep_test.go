package main

import (
	"slices"
	"testing"

	"mla/runtime/plan"
)

// TestDeepPositions checks that the positions include the edges of splits: the end of the first tile, the
// begin of a split's second tile, and the first row of the last split.
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
