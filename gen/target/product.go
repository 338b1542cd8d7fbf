package target

import (
	"fmt"

	"mla/runtime/plan"
	"mla/runtime/plan/verify"
)

// A product multiplies weights by the inputs of many rows in simdgroup matrices
// (templates/msl/lib/product.metal). A tile has the inputs of Tokens rows in threadgroup memory. A simdgroup
// makes 32 or 16 rows of results. If SplitK simdgroups share rows, each takes every SplitK-th step of 128
// columns.

// product is the form of products.
type product struct {
	tile  int  // largest number of inputs in a tile
	parts bool // a tile has only a part of a step of columns, and floats are multiplied as floats
}

var products = table[product]{
	{"", product{tile: largestTile}, Source{Measured, h200, "2026-11-22",
		"18 kB of halves, beside 10 kB of weights on their way where a platform passes them through memory. Floats are sums of two halves, as matrix units have no floats of that speed"}},
	{plan.ClassApple, product{tile: 32, parts: true}, Source{Reported, "Apple GPUs", "2026-11-28",
		"a simdgroup has 16 matrices of results at most, and a threadgroup some 9 kB. M1: 1,400 GFLOP/s fall to 690 above some 8 matrices (llama.cpp#10982); M3 Pro: 16 matrices and 128 threads are best (Metal.jl#832); " +
			"M1 and M2 Max: 9.75 kB are 30 % faster than 16.25 kB, 30 kB 21 % slower (lattice#268). FFMA32 and FFMA16 have one rate up to family Apple9 (metal-benchmarks): a float in three products of halves would take three times as long"}},
}

// largestTile is the number of inputs in a tile if only threadgroup memory limits it.
const largestTile = verify.TileInputs

// BatchTile is the largest number of inputs in a tile of a batch's experts. All simdgroups of a tile share rows.
const BatchTile = verify.SharedInputs

// Parts reports whether a tile of a product has only a part of a step of columns, and floats are multiplied
// as floats.
func (t Target) Parts() bool { return products.of(t.class).is.parts }

// ProductTokens returns how many of width rows a threadgroup takes at a time.
func (t Target) ProductTokens(width int) int {
	tokens := 8
	for tokens < width && tokens < products.of(t.class).is.tile {
		tokens *= 2
	}
	return tokens
}

// experts is the form of products of experts.
type experts struct {
	shares     int // largest number of threadgroups that share the rows of one expert
	persistent int // number of persistent threadgroups for a batch, times the cores if perCore; 0: one threadgroup for each tile of weights
	perCore    bool
	Shape      // of the persistent threadgroups
}

var expertTables = table[experts]{
	{"", expertsOf(256, false), Source{Measured, h200, "2026-11-24", expertFigures}},
	{plan.ClassApple, expertsOf(0, false), Source{Estimated, "Apple GPUs", "2026-11-28",
		"no threadgroup lives for longer than its tile: one that goes over many is what a system that ends long work would meet first, and how many run at a time differs between 8 and 80 cores"}},
	{plan.ClassNVIDIA, expertsOf(4, true), Source{Measured, h200, "2026-11-24", expertFigures}},
}

func expertsOf(persistent int, perCore bool) experts {
	return experts{shares: 4, persistent: persistent, perCore: perCore,
		Shape: Shape{RowsPerSimdgroup: 32, Simdgroups: 4, SplitK: 4}}
}

const expertFigures = "tiles of 16 of 16 rows and 64 experts left the matrix units busy for six times the products that count. " +
	"GLM-4.7-Flash's 512 rows, 32 an expert on average: 16,512 tok/s with tiles of 40, 15,528 with 48. " +
	"512 rows that all selected the same four of GLM's experts: eight tiles one after the other 370 µs, shared by four 153 µs. " +
	"Sixteen sessions with 16 rows of one matrix to a simdgroup: DeepSeek-V2-Lite 3,577 tok/s instead of 3,715, GLM-4.7-Flash 2,819 instead of 2,900"

// ExpertTokens is ProductTokens for products of experts. perRow of count experts are selected by each of
// width rows. The tile holds twice as many rows as select an expert on average, because products with the
// unused rest of a tile are wasted. If the average is half to four fifths of a full tile, the tile holds an
// eighth more than the average, which suffices for most experts. No tile holds more rows than the sequence.
func (t Target) ExpertTokens(width, perRow, count int) int {
	mean, tile := ceil(width*perRow, count), products.of(t.class).is.tile
	if mean >= tile/2 && mean <= tile*13/16 {
		return min((mean*9/8+7)/8*8, t.ProductTokens(width))
	}
	return t.ProductTokens(min(width, ceil(2*width*perRow, count)))
}

// ExpertShares returns how many threadgroups share the rows that select one expert, for the same rows of its
// weights. The rows of a prompt do not select all experts equally often, and the dispatch ends with the
// expert that has most tiles. More than a few threadgroups would find nothing to do.
func (t Target) ExpertShares(width, perRow, count int) int {
	return max(1, min(expertTables.of(t.class).is.shares, width/(4*t.ExpertTokens(width, perRow, count))))
}

// ExpertsShape returns the shape of persistent threadgroups: all simdgroups share 32 rows of one matrix, or
// 16 of each of two.
func (t Target) ExpertsShape() Shape { return expertTables.of(t.class).is.Shape }

// PersistentExperts reports whether the experts of a batch run in persistent threadgroups.
func (t Target) PersistentExperts() bool { return expertTables.of(t.class).is.persistent > 0 }

// ExpertsThreadgroups returns the number of persistent threadgroups for the experts of a batch, when they
// have at most tiles tiles.
func (t Target) ExpertsThreadgroups(tiles int) int {
	e := expertTables.of(t.class).is
	if e.perCore {
		e.persistent *= t.Cores()
	}
	return min(e.persistent, tiles)
}

// WhyExperts gives the reason for ExpertsShape's result.
func (t Target) WhyExperts() string {
	return "as many threadgroups as run at a time share the tiles of those experts that were selected; " + expertTables.of(t.class).from.String()
}

// ProductSize is the size of all products of a kernel.
type ProductSize struct {
	Rows, Cols int  // of the weights: results in all, and inputs of each
	Pairs      bool // two rows give one result, as in SwiGLU
}

// wide is the shape of a prompt's products with at most perCore threadgroups for each core.
type wide struct {
	perCore int // 0: any number
	Shape
}

var wides = table[[]wide]{
	{"", []wide{
		{1, Shape{RowsPerSimdgroup: 32, Simdgroups: 8, SplitK: 2}}, // pairs of simdgroups share rows
		{2, Shape{RowsPerSimdgroup: 32, Simdgroups: 4, SplitK: 2}}, // with twice as many threadgroups fewer cores are idle at the end
		{0, Shape{RowsPerSimdgroup: 32, Simdgroups: 4, SplitK: 1}},
	}, Source{Measured, h200, "2026-11-22", "docs/performance.md"}},
	{plan.ClassApple, []wide{{0, Shape{RowsPerSimdgroup: 32, Simdgroups: 4, SplitK: 1}}}, Source{Reported, "Apple GPUs", "2026-11-28",
		"tiles of half as many inputs leave no core idle, and simdgroups that share rows would need tiles of their own; 128 threads were better than 512 (Metal.jl#832)"}},
}

// ProductShape returns the shape of the threadgroups of a kernel of products for width rows.
func (t Target) ProductShape(width int, size ProductSize) Shape {
	tile := products.of(t.class).is.tile
	if tokens := t.ProductTokens(width); tokens < tile {
		return t.narrowShape(tokens, size)
	}
	list := wides.of(t.class).is
	threadgroups := ceil(width, tile) * ceil(size.Rows, 128)
	for _, w := range list {
		if threadgroups <= w.perCore*t.Cores() {
			return w.Shape
		}
	}
	return list[len(list)-1].Shape
}

// WhyProduct gives the reason for ProductShape's result.
func (t Target) WhyProduct(width, rows, cols int) string {
	from := &wides.of(t.class).from
	tile := products.of(t.class).is.tile
	if t.ProductTokens(width) < tile {
		return fmt.Sprintf("so few rows wait for the weights (%d results of %d inputs each): simdgroups that share results read different columns; %s", rows, cols, from)
	}
	return fmt.Sprintf("%d results for tiles of %d rows: as many threadgroups as keep %d cores busy to the end; %s", rows, tile, t.Cores(), from)
}

// narrow is the shape of a batch's products that meet all conditions of the row. A zero is no condition.
type narrow struct {
	splitK, tokens int  // what the general shape and the tile have
	minCols        int  // least number of inputs
	above, upTo    int  // number of results: more than above, at most upTo times 16 for each core
	noHead         bool // at most headRows results, so not a head
	single         bool // not of pairs of rows
	Shape               // the shape
	from           Source
}

// headRows is the largest number of results of a product that is not a head.
const headRows = 1 << 15

var (
	sharedByEight = Shape{RowsPerSimdgroup: 16, Simdgroups: 8, SplitK: 8}
	sharedByFour  = Shape{RowsPerSimdgroup: 32, Simdgroups: 4, SplitK: 4}
)

// narrows lists the exceptions from the general shape; the first row that holds counts. With the larger
// threadgroup memory of class nvidia, eight simdgroups are better, because a core then has enough of them to
// hide latency. Four are better for products for 16 inputs that have 32 rows for at most one threadgroup per
// core; products of two matrices make only 16 rows of each.
var narrows = table[[]narrow]{
	{"", nil, Source{Estimated, "", "2026-11-24", "four simdgroups, as threadgroup memory of 32 KiB has room for"}},
	{plan.ClassApple, []narrow{
		{splitK: 1, Shape: Shape{RowsPerSimdgroup: 16, Simdgroups: 4, SplitK: 1}, from: fewRegisters},
		{splitK: 2, Shape: Shape{RowsPerSimdgroup: 16, Simdgroups: 4, SplitK: 2}, from: fewRegisters},
		{splitK: 4, Shape: Shape{RowsPerSimdgroup: 16, Simdgroups: 4, SplitK: 4}, from: fewRegisters},
	}, Source{Estimated, "Apple GPUs", "2026-11-28", "see the rows"}},
	{plan.ClassNVIDIA, []narrow{
		{splitK: 1, Shape: Shape{RowsPerSimdgroup: 16, Simdgroups: 8, SplitK: 1},
			from: Source{Measured, h200, "2026-11-24", "Youtu-LLM's 8 and 16 sessions at 5,661 and 8,769 tok/s, with four simdgroups at 5,313 and 8,254"}},
		{tokens: 8, minCols: 2048, noHead: true, Shape: sharedByEight,
			from: Source{Measured, h100, "2026-11-27", "8 sessions: where some products had four simdgroups the next kernel started later, DeepSeek-V2-Lite at 2,948 tok/s instead of 3,002, Youtu-LLM at 6,674 instead of 6,830"}},
		{tokens: 8, minCols: 512, upTo: 1, Shape: sharedByEight,
			from: Source{Measured, h100, "2026-11-27", "as of 2,048 inputs"}},
		{splitK: 4, tokens: 16, minCols: 1024, above: 1, upTo: 2, single: true, Shape: sharedByFour,
			from: Source{Measured, h100, "2026-11-27", "Youtu-LLM's 16 sessions at 11,190 tok/s, with eight simdgroups at 10,963"}},
		{splitK: 4, minCols: 1024, upTo: 2, Shape: sharedByEight,
			from: Source{Measured, h200, "2026-11-24", "as without sharing"}},
	}, Source{Measured, h200, "2026-11-24", "see the rows"}},
}

var fewRegisters = Source{Estimated, "Apple GPUs", "2026-11-28",
	"with 32 rows of the larger formats a thread would need more than the 128 registers that it has: docs/lab/registers.tsv"}

// holds reports whether the row is for a product whose general shape is s.
func (n *narrow) holds(s Shape, tokens, cores int, size ProductSize) bool {
	wave := 16 * cores // results: a block of 16 for each core
	return (n.splitK == 0 || s.SplitK == n.splitK) && (n.tokens == 0 || tokens == n.tokens) && size.Cols >= n.minCols &&
		(n.above == 0 || size.Rows > n.above*wave) && (n.upTo == 0 || size.Rows <= n.upTo*wave) &&
		(!n.noHead || size.Rows <= headRows) && (!n.single || !size.Pairs)
}

// narrowShape returns the shape for batches, which are limited by the bandwidth for weights. Simdgroups that
// share rows take different steps. If there are few results, each makes half as many.
func (t Target) narrowShape(tokens int, size ProductSize) Shape {
	s := Shape{RowsPerSimdgroup: 32, Simdgroups: 4, SplitK: 1}
	for s.SplitK < s.Simdgroups && 2*s.SplitK*tokens <= largestTile && 256*s.SplitK <= size.Cols {
		s.SplitK *= 2
	}
	if perGroup := 32 * s.Simdgroups / s.SplitK; ceil(size.Rows, perGroup) < 2*t.Cores() {
		s.RowsPerSimdgroup = 16
	}
	list := narrows.of(t.class).is
	for i := range list {
		if list[i].holds(s, tokens, t.Cores(), size) {
			return list[i].Shape
		}
	}
	return s
}
