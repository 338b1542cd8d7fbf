package spec

import (
	"fmt"

	"mla/runtime/plan"
)

// A product multiplies weights by the inputs of many rows, Tokens at a time, in simdgroup matrices:
// templates/msl/lib/product.metal. A simdgroup makes 32 rows of results, or 16; simdgroups that share rows
// take every SplitK-th step of 128 columns. The tile of inputs of all of them is what a threadgroup's
// memory has room for.

// productTile is how many inputs of a step the tile holds: 18 kB of halves, beside 10 kB of weights
// on their way where a platform passes them through memory.
const productTile = 64

// ProductTokens is how many of a sequence's rows a threadgroup takes at a time.
func ProductTokens(width int) int {
	tokens := 8
	for tokens < width && tokens < productTile {
		tokens *= 2
	}
	return tokens
}

// ExpertTokens is the same for products of experts, each of which is selected by some of the
// rows: the tile holds twice as many as select it on average. Of a tile that is less full most
// products are of copies: with 16 rows and 64 experts, six of them for each, tiles of 16 left
// the multiprocessors' matrix units busy for six times the products that count. Where half to four
// fifths of a full tile is the average, a tile with an eighth more holds what most experts have: GLM-4.7-Flash's
// 512 rows, 32 an expert on average, ran at 16,512 tok/s with tiles of 40 and at 15,528 with 48.
func ExpertTokens(width, perRow, experts int) int {
	const half, most = productTile / 2, productTile * 13 / 16
	mean := (width*perRow + experts - 1) / experts
	if mean >= half && mean <= most {
		return (mean*9/8 + 7) / 8 * 8
	}
	return ProductTokens(min(width, (2*width*perRow+experts-1)/experts))
}

// ExpertShares is how many threadgroups share what selects an expert, for the same rows of its weights. A
// prompt's rows do not select all experts alike, and all wait for the one with the most tiles.
// More than a few would find nothing to do. With 512 rows that all selected the same four of GLM's
// experts, eight tiles one behind the other took 370 µs, shared by four 153 µs, on an NVIDIA H200.
func ExpertShares(width, perRow, experts int) int {
	const most = 4
	return max(1, min(most, width/(4*ExpertTokens(width, perRow, experts))))
}

// Multiprocessors is how many a large GPU has: an NVIDIA H100 or H200.
const Multiprocessors = 132

// ProductSize is what the products of a kernel have in all.
type ProductSize struct {
	Rows, Cols int  // of the weights: results, and inputs of each
	Pairs      bool // two rows give one result, as those of SwiGLU
}

// ProductShape is the shape of the threadgroups of a kernel of products for so many rows:
// measured on NVIDIA GPUs (docs/performance.md), not on Apple hardware.
func ProductShape(class string, width int, size ProductSize) Shape {
	if tokens := ProductTokens(width); tokens < productTile {
		return narrowShape(class, tokens, size)
	}
	switch threadgroups := (width + productTile - 1) / productTile * ((size.Rows + 127) / 128); {
	case threadgroups <= Multiprocessors: // one each: eight simdgroups, two of which share rows
		return Shape{RowsPerSimdgroup: 32, Simdgroups: 8, SplitK: 2}
	case threadgroups <= 2*Multiprocessors: // twice as many do not leave half of them idle in the end
		return Shape{RowsPerSimdgroup: 32, Simdgroups: 4, SplitK: 2}
	}
	return Shape{RowsPerSimdgroup: 32, Simdgroups: 4, SplitK: 1}
}

// ExpertsShape is the same for those experts that the rows of a batch have selected: all simdgroups of a persistent
// threadgroup share 32 rows, of one matrix or 16 of each of two. With 16 rows of one matrix, sixteen sessions of
// DeepSeek-V2-Lite ran at 3,577 tok/s instead of 3,715, of GLM-4.7-Flash at 2,819 instead of 2,900.
func ExpertsShape() Shape { return Shape{RowsPerSimdgroup: 32, Simdgroups: 4, SplitK: 4} }

// expertsThreadgroups is how many persistent threadgroups go over what experts a batch has selected, by class of
// devices, "" those of any other: on NVIDIA's as many as are there at a time.
var expertsThreadgroups = map[string]int{"": 256, plan.ClassNVIDIA: 4 * Multiprocessors}

// ExpertsThreadgroups is the same where there are at most so many tiles for them.
func (s *Spec) ExpertsThreadgroups(tiles int) int {
	n, ok := expertsThreadgroups[s.Class]
	if !ok {
		n = expertsThreadgroups[""]
	}
	return min(n, tiles)
}

// WhyExperts says why ExpertsShape gives its shape.
const WhyExperts = "as many threadgroups as run at a time share the tiles of those experts that were selected; measured on an NVIDIA H200"

// WhyProduct says why ProductShape gives its shape.
func WhyProduct(width, rows, cols int) string {
	if ProductTokens(width) < productTile {
		return fmt.Sprintf("so few rows wait for the weights (%d results of %d inputs each): simdgroups that share results read different columns; measured on an NVIDIA H200", rows, cols)
	}
	return fmt.Sprintf("%d results for tiles of %d rows: as many threadgroups as keep %d multiprocessors busy to the end; measured on an NVIDIA H200", rows, productTile, Multiprocessors)
}

// narrowShape is for batches, where the weights' way from memory counts: simdgroups that share rows take
// steps of their own, and make half as many rows where there are few.
func narrowShape(class string, tokens int, size ProductSize) Shape {
	s := Shape{RowsPerSimdgroup: 32, Simdgroups: 4, SplitK: 1}
	for s.SplitK < s.Simdgroups && 2*s.SplitK*tokens <= productTile && 256*s.SplitK <= size.Cols {
		s.SplitK *= 2
	}
	if perGroup := 32 * s.Simdgroups / s.SplitK; (size.Rows+perGroup-1)/perGroup < 2*Multiprocessors {
		s.RowsPerSimdgroup = 16
	}
	if class == plan.ClassNVIDIA {
		return s.sharedByEight(tokens, size)
	}
	return s
}

// sharedByEight is such a shape where NVIDIA's threadgroups, whose memory is larger, are better off with eight
// simdgroups, so that a multiprocessor has warps enough to hide what each waits for. Youtu-LLM's 8 and 16
// sessions ran at 5,661 and 8,769 tok/s, with four at 5,313 and 8,254, on an NVIDIA H200. Of 8 sessions all
// products but the head are: where some had four the next kernel started later, and DeepSeek-V2-Lite's 8 ran at
// 2,948 tok/s instead of 3,002, Youtu-LLM's at 6,674 instead of 6,830, on an NVIDIA H100. Of 16 blocks of 32
// rows, of which each multiprocessor has at most one, need four: Youtu-LLM's ran at 11,190 tok/s, with
// eight at 10,963. Those of two matrices make only 16 rows of each.
func (s Shape) sharedByEight(tokens int, size ProductSize) Shape {
	const wave, head = 16 * Multiprocessors, 1 << 15 // rows: one block of 16 for each multiprocessor; more than any product but a head has
	eight := Shape{RowsPerSimdgroup: 16, Simdgroups: 8, SplitK: 8}
	switch rows, cols := size.Rows, size.Cols; {
	case s.SplitK == 1:
		return Shape{RowsPerSimdgroup: 16, Simdgroups: 8, SplitK: 1}
	case tokens == 8 && (cols >= 2048 && rows <= head || cols >= 512 && rows <= wave):
		return eight
	case s.SplitK != 4 || cols < 1024 || rows > 2*wave:
		return s
	case tokens == 16 && rows > wave && !size.Pairs:
		return Shape{RowsPerSimdgroup: 32, Simdgroups: 4, SplitK: 4}
	}
	return eight
}
