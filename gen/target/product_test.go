package target

import (
	"testing"

	"mla/runtime/plan"
)

// TestExpertTiles checks the tile of experts: twice the average rows of an expert in a batch, an eighth more
// than the average if that is at least half of a tile, and never more than the tile. It also checks how many
// threadgroups share the rows of a prompt.
func TestExpertTiles(t *testing.T) {
	for _, c := range []struct{ width, perRow, experts, tokens, shares int }{
		{16, 4, 64, 8, 1},
		{16, 6, 64, 8, 1},
		{16, 8, 8, 16, 1},
		{16, 6, 6, 16, 1}, // each row selects all experts
		{32, 6, 6, 32, 1},
		{128, 4, 64, 16, 2},
		{512, 4, 64, 40, 3},  // GLM-4.7-Flash: 32 on average
		{512, 5, 64, 48, 2},  // 40
		{512, 6, 64, 56, 2},  // DeepSeek-V2-Lite: 48
		{2048, 4, 64, 64, 4}, // 128
		{4096, 8, 256, 64, 4},
	} {
		if got := For("").ExpertTokens(c.width, c.perRow, c.experts); got != c.tokens {
			t.Errorf("%d rows, %d of %d experts: tiles of %d; expected %d", c.width, c.perRow, c.experts, got, c.tokens)
		}
		if got := For(plan.ClassApple).ExpertTokens(c.width, c.perRow, c.experts); got > 32 || got < min(c.tokens, 32)*3/4 {
			t.Errorf("%d rows, %d of %d experts: tiles of %d of parts of steps", c.width, c.perRow, c.experts, got)
		}
		if got := For("").ExpertShares(c.width, c.perRow, c.experts); got != c.shares {
			t.Errorf("%d rows, %d of %d experts: shared by %d; expected %d", c.width, c.perRow, c.experts, got, c.shares)
		}
	}
}

// TestExpertsThreadgroups checks that there are as many threadgroups as a class of devices runs at a time, and no
// more than there are tiles.
func TestExpertsThreadgroups(t *testing.T) {
	for _, c := range []struct {
		class       string
		tiles, want int
	}{{plan.ClassNVIDIA, 5000, 4 * 132}, {plan.ClassNVIDIA, 7, 7}, {"", 5000, 256}, {plan.ClassApple, 5000, 0}} {
		if got := For(c.class).ExpertsThreadgroups(c.tiles); got != c.want {
			t.Errorf("%q: %d threadgroups for %d tiles; expected %d", c.class, got, c.tiles, c.want)
		}
	}
}

// TestProductShape: of a prompt's products, as many threadgroups as keep the multiprocessors busy.
func TestProductShape(t *testing.T) {
	for _, c := range []struct {
		class string
		width int
		size  ProductSize
		want  Shape
	}{
		{"", 512, ProductSize{Rows: 2048, Cols: 6144}, Shape{RowsPerSimdgroup: 32, Simdgroups: 8, SplitK: 2}},
		{"", 512, ProductSize{Rows: 2112, Cols: 2048}, Shape{RowsPerSimdgroup: 32, Simdgroups: 4, SplitK: 2}},
		{"", 512, ProductSize{Rows: 12288, Cols: 2048}, Shape{RowsPerSimdgroup: 32, Simdgroups: 4, SplitK: 1}},
		{"", 2048, ProductSize{Rows: 2048, Cols: 2048}, Shape{RowsPerSimdgroup: 32, Simdgroups: 4, SplitK: 1}},
		{"", 16, ProductSize{Rows: 12288, Cols: 2048}, Shape{RowsPerSimdgroup: 32, Simdgroups: 4, SplitK: 4}},
		{plan.ClassNVIDIA, 512, ProductSize{Rows: 2048, Cols: 6144}, Shape{RowsPerSimdgroup: 32, Simdgroups: 8, SplitK: 2}},
		{plan.ClassNVIDIA, 16, ProductSize{Rows: 12288, Cols: 2048}, Shape{RowsPerSimdgroup: 32, Simdgroups: 4, SplitK: 4}}, // threadgroups enough
		{plan.ClassNVIDIA, 8, ProductSize{Rows: 2048, Cols: 6144}, Shape{RowsPerSimdgroup: 16, Simdgroups: 8, SplitK: 8}},
		{plan.ClassNVIDIA, 8, ProductSize{Rows: 12288, Cols: 2048, Pairs: true}, Shape{RowsPerSimdgroup: 16, Simdgroups: 8, SplitK: 8}},
		{plan.ClassNVIDIA, 8, ProductSize{Rows: 102400, Cols: 2048}, Shape{RowsPerSimdgroup: 32, Simdgroups: 4, SplitK: 4}}, // a head
		{plan.ClassNVIDIA, 8, ProductSize{Rows: 2048, Cols: 512}, Shape{RowsPerSimdgroup: 16, Simdgroups: 8, SplitK: 8}},
		{plan.ClassNVIDIA, 8, ProductSize{Rows: 5120, Cols: 512}, Shape{RowsPerSimdgroup: 16, Simdgroups: 4, SplitK: 4}},
		{plan.ClassNVIDIA, 8, ProductSize{Rows: 8192, Cols: 128}, Shape{RowsPerSimdgroup: 16, Simdgroups: 8, SplitK: 1}},
		{plan.ClassNVIDIA, 16, ProductSize{Rows: 2048, Cols: 2048}, Shape{RowsPerSimdgroup: 16, Simdgroups: 8, SplitK: 8}},
		{plan.ClassNVIDIA, 16, ProductSize{Rows: 3072, Cols: 1536}, Shape{RowsPerSimdgroup: 32, Simdgroups: 4, SplitK: 4}}, // a block for each multiprocessor
		{plan.ClassNVIDIA, 16, ProductSize{Rows: 3136, Cols: 2048, Pairs: true}, Shape{RowsPerSimdgroup: 16, Simdgroups: 8, SplitK: 8}},
		{plan.ClassNVIDIA, 16, ProductSize{Rows: 2048, Cols: 768}, Shape{RowsPerSimdgroup: 16, Simdgroups: 4, SplitK: 4}}, // less than a step for each of eight
		{plan.ClassApple, 8, ProductSize{Rows: 2048, Cols: 6144}, Shape{RowsPerSimdgroup: 16, Simdgroups: 4, SplitK: 4}},
		{plan.ClassApple, 512, ProductSize{Rows: 2048, Cols: 6144}, Shape{RowsPerSimdgroup: 32, Simdgroups: 4, SplitK: 1}},
		{plan.ClassApple, 32, ProductSize{Rows: 12288, Cols: 2048}, Shape{RowsPerSimdgroup: 32, Simdgroups: 4, SplitK: 1}}, // the tile is full
		{"", 16, ProductSize{Rows: 2048, Cols: 128}, Shape{RowsPerSimdgroup: 16, Simdgroups: 4, SplitK: 1}},
	} {
		if got := For(c.class).ProductShape(c.width, c.size); got != c.want {
			t.Errorf("class %q, %d rows, %+v: %+v; expected %+v", c.class, c.width, c.size, got, c.want)
		}
	}
}
