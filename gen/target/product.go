package target

import (
	"fmt"

	"mla/runtime/plan"
	"mla/runtime/plan/verify"
)

// A product multiplies weights by the inputs of many rows, Tokens at a time, in simdgroup matrices:
// templates/msl/lib/product.metal. A simdgroup makes 32 rows of results, or 16; simdgroups that share rows
// take every SplitK-th step of 128 columns. The tile of inputs of all of them is what a threadgroup's
// memory has room for.

// product is how products are made.
type product struct {
	tile  int  // inputs that a tile holds at most
	parts bool // a tile has a part of a step, and floats are multiplied as they are
}

var products = table[product]{
	{"", product{tile: largestTile}, Source{Measured, h200, "2026-11-22",
		"18 kB of halves, beside 10 kB of weights on their way where a platform passes them through memory. Floats are sums of two halves, as matrix units have no floats of that speed"}},
	{plan.ClassApple, product{tile: 32, parts: true}, Source{Reported, "Apple GPUs", "2026-11-28",
		"a simdgroup has 16 matrices of results at most, and a threadgroup some 9 kB. M1: 1,400 GFLOP/s fall to 690 above some 8 matrices (llama.cpp#10982); M3 Pro: 16 matrices and 128 threads are best (Metal.jl#832); " +
			"M1 and M2 Max: 9.75 kB are 30 % faster than 16.25 kB, 30 kB 21 % slower (lattice#268). FFMA32 and FFMA16 have one rate up to family Apple9 (metal-benchmarks): a float in three products of halves would take three times as long"}},
}

// largestTile is how many inputs tiles hold where a threadgroup's memory alone counts.
const largestTile = verify.TileInputs

// Parts says whether tiles of products have a part of a step of columns, and floats are multiplied as they are.
func (t Target) Parts() bool { return products.of(t.class).is.parts }

// ProductTokens is how many of a sequence's rows a threadgroup takes at a time.
func (t Target) ProductTokens(width int) int {
	tokens := 8
	for tokens < width && tokens < products.of(t.class).is.tile {
		tokens *= 2
	}
	return tokens
}

// experts is how products of experts are cut.
type experts struct {
	shares     int // threadgroups at most that share what selects an expert
	persistent int // threadgroups that go over what a batch has selected, times the cores if perCore; 0: each tile of weights has one
	perCore    bool
	Shape      // of those
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

// ExpertTokens is the same as ProductTokens for products of experts, each of which is selected by
// some of the rows: the tile holds twice as many as select it on average. Of a tile that is less
// full most products are of copies. Where half to four fifths of a full tile is the average, a
// tile with an eighth more holds what most experts have. No tile holds more than the sequence has.
func (t Target) ExpertTokens(width, perRow, count int) int {
	mean, tile := ceil(width*perRow, count), products.of(t.class).is.tile
	if mean >= tile/2 && mean <= tile*13/16 {
		return min((mean*9/8+7)/8*8, t.ProductTokens(width))
	}
	return t.ProductTokens(min(width, ceil(2*width*perRow, count)))
}

// ExpertShares is how many threadgroups share what selects an expert, for the same rows of its weights. A
// prompt's rows do not select all experts alike, and all wait for the one with the most tiles.
// More than a few would find nothing to do.
func (t Target) ExpertShares(width, perRow, count int) int {
	return max(1, min(expertTables.of(t.class).is.shares, width/(4*t.ExpertTokens(width, perRow, count))))
}

// ExpertsShape is the shape for those experts that the rows of a batch have selected: all simdgroups of a
// persistent threadgroup share 32 rows, of one matrix or 16 of each of two.
func (t Target) ExpertsShape() Shape { return expertTables.of(t.class).is.Shape }

// PersistentExperts says whether threadgroups are persistent that go over what a batch has selected.
func (t Target) PersistentExperts() bool { return expertTables.of(t.class).is.persistent > 0 }

// ExpertsThreadgroups is how many persistent threadgroups go over what experts a batch has
// selected, where there are at most that many tiles for them.
func (t Target) ExpertsThreadgroups(tiles int) int {
	e := expertTables.of(t.class).is
	if e.perCore {
		e.persistent *= t.Cores()
	}
	return min(e.persistent, tiles)
}

// WhyExperts says why ExpertsShape gives its shape.
func (t Target) WhyExperts() string {
	return "as many threadgroups as run at a time share the tiles of those experts that were selected; " + expertTables.of(t.class).from.String()
}

// ProductSize is what the products of a kernel have in all.
type ProductSize struct {
	Rows, Cols int  // of the weights: results, and inputs of each
	Pairs      bool // two rows give one result, as those of SwiGLU
}

// wide is the shape of a prompt's products that have at most that many threadgroups for each core.
type wide struct {
	perCore int // 0: any number
	Shape
}

var wides = table[[]wide]{
	{"", []wide{
		{1, Shape{RowsPerSimdgroup: 32, Simdgroups: 8, SplitK: 2}}, // two simdgroups share rows
		{2, Shape{RowsPerSimdgroup: 32, Simdgroups: 4, SplitK: 2}}, // twice as many do not leave half of them idle in the end
		{0, Shape{RowsPerSimdgroup: 32, Simdgroups: 4, SplitK: 1}},
	}, Source{Measured, h200, "2026-11-22", "docs/performance.md"}},
	{plan.ClassApple, []wide{{0, Shape{RowsPerSimdgroup: 32, Simdgroups: 4, SplitK: 1}}}, Source{Reported, "Apple GPUs", "2026-11-28",
		"tiles of half as many inputs leave no core idle, and simdgroups that share rows would need tiles of their own; 128 threads were better than 512 (Metal.jl#832)"}},
}

// ProductShape is the shape of the threadgroups of a kernel of products for a given number of rows.
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

// WhyProduct says why ProductShape gives its shape.
func (t Target) WhyProduct(width, rows, cols int) string {
	from := &wides.of(t.class).from
	tile := products.of(t.class).is.tile
	if t.ProductTokens(width) < tile {
		return fmt.Sprintf("so few rows wait for the weights (%d results of %d inputs each): simdgroups that share results read different columns; %s", rows, cols, from)
	}
	return fmt.Sprintf("%d results for tiles of %d rows: as many threadgroups as keep %d cores busy to the end; %s", rows, tile, t.Cores(), from)
}

// narrow is another shape of a batch's products than the general one where all of this holds;
// 0 is any number.
type narrow struct {
	splitK, tokens int  // of the general shape, and of the tile
	minCols        int  // inputs
	above, upTo    int  // results: more than above times 16 for each core, at most upTo times that
	noHead         bool // no more results than a head has at least
	single         bool // a result is of one row
	Shape               // what it is then
	from           Source
}

// headRows is more results than any product but a head has.
const headRows = 1 << 15

var (
	sharedByEight = Shape{RowsPerSimdgroup: 16, Simdgroups: 8, SplitK: 8}
	sharedByFour  = Shape{RowsPerSimdgroup: 32, Simdgroups: 4, SplitK: 4}
)

// narrows are these, the first counts. The threadgroups of class nvidia, whose memory is larger,
// are better off with eight simdgroups, so that a core has enough of them to hide what each waits
// for. Products of 16 blocks of 32 rows, of which each core has at most one, need four; those of
// two matrices make only 16 rows of each.
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

// holds says whether a row is for a product whose general shape is s.
func (n *narrow) holds(s Shape, tokens, cores int, size ProductSize) bool {
	wave := 16 * cores // rows: a block of 16 for each core
	return (n.splitK == 0 || s.SplitK == n.splitK) && (n.tokens == 0 || tokens == n.tokens) && size.Cols >= n.minCols &&
		(n.above == 0 || size.Rows > n.above*wave) && (n.upTo == 0 || size.Rows <= n.upTo*wave) &&
		(!n.noHead || size.Rows <= headRows) && (!n.single || !size.Pairs)
}

// narrowShape is for batches, where the weights' way from memory counts: simdgroups that share rows take
// steps of their own, and make half as many rows where there are few.
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
