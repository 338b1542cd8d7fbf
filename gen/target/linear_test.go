package target

import "testing"

// TestDeltaColumns checks, for heads of every width, that a threadgroup's number of columns is a multiple of the
// columns of a turn and divides the width of the head.
func TestDeltaColumns(t *testing.T) {
	for dim := SimdWidth; dim <= 256; dim += SimdWidth {
		for heads := 1; heads <= 64; heads++ {
			columns, turn := For("").DeltaColumns(heads, dim), For("").DeltaTurn(dim)
			if columns%turn != 0 || dim%columns != 0 {
				t.Errorf("%d heads of %d columns: threadgroups of %d; expected whole turns of %d", heads, dim, columns, turn)
			}
		}
	}
	for _, c := range []struct{ heads, dim, columns int }{{32, 128, 32}, {16, 128, 16}, {4, 64, 16}, {4, 96, 48}, {4, 32, 16}, {64, 256, 128}} {
		if got := For("").DeltaColumns(c.heads, c.dim); got != c.columns {
			t.Errorf("%d heads of %d columns: threadgroups of %d; expected %d", c.heads, c.dim, got, c.columns)
		}
	}
}
