package device_test

import (
	"testing"

	"mla/runtime/device"
	"mla/runtime/plan"
)

// TestFlops checks that products count all rows, expanded heads count the pages that are attended to, and
// attention counts each row's own cache rows.
func TestFlops(t *testing.T) {
	for _, c := range []struct {
		part plan.Part
		want int64
	}{
		{&plan.MatVec{Product: plan.Product{Up: -1, Rows: 5, Cols: 7}, Batch: 1}, 2 * 5 * 7 * 3},
		{&plan.ExpandHeads{Keys: true, Heads: 2, Dim: 8, LatDim: 16, Shares: 1}, 2 * 2 * 8 * 16 * 128},
		{&plan.AttendHeads{Heads: 2, NopeDim: 8, PeDim: 4, VDim: 6, RowsPerGroup: 8}, 2 * 2 * 18 * (70 + 69 + 68)},
		{&plan.Embed{Dim: 8, RowsPerGroup: 8}, 0},
	} {
		k := plan.Kernel{Width: 3, Parts: []plan.Part{c.part}}
		if got := device.Flops(&device.Command{Kernel: &k}, 3, 70); got != c.want {
			t.Errorf("%T: %d operations; expected %d", c.part, got, c.want)
		}
	}
}
