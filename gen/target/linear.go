package target

import (
	"math/bits"

	"mla/runtime/plan"
	"mla/runtime/plan/verify"
)

// hybridSimdgroups is how many simdgroups attention of hybrid models takes at least, by its heads.
var hybridSimdgroups = table[map[int]int]{
	{"", map[int]int{32: 16}, Source{Measured, h200, "2026-11-28",
		"with 8 simdgroups matrices of 32 heads of 512 columns pass the budget of registers. One row of Kimi-Linear at depth 64 took 50.8 us in the plain form, 7.4 in matrices"}},
}

// HybridSimdgroups is the least number of simdgroups for a number of heads; 0: as for other models.
func (t Target) HybridSimdgroups(heads int) int { return hybridSimdgroups.of(t.class).is[heads] }

// deltaChunks is from how many rows on the delta rule goes by chunks; 0: it never does.
var deltaChunks = table[int]{
	{"", 17, Source{Measured, h200, "2026-11-28", "TODO"}},
	{MetalClass, 0, Source{Estimated, "Apple GPUs", "2026-11-28",
		"nothing was measured. Row by row a prompt takes 7 operations for each number of a state, by chunks 6 and as much memory again for what chunks hand on"}},
}

// DeltaChunks says whether sequences of so many rows go by chunks, of heads that threadgroups share evenly.
func (t Target) DeltaChunks(width, dim int) bool {
	from := deltaChunks.of(t.class).is
	return from > 0 && width >= from && dim <= verify.MaxChunkDim && bits.OnesCount(uint(dim)) == 1
}

// FoldLanes is how many lanes share a column there.
func (t Target) FoldLanes(dim int) int { return min(16, dim/4) }

// FoldThreads is how many threads share the columns of a threadgroup there: a thread has 4 columns at most.
func (t Target) FoldThreads(heads, dim int) int {
	return max(t.DeltaColumns(heads, dim)*t.FoldLanes(dim)/4, 128)
}

// deltaShares is how many threadgroups of the same columns share the sessions of a prompt.
var deltaShares = table[int]{
	{"", 4, Source{Measured, h200, "2026-11-28", "TODO"}},
}

// DeltaShares is how many share the sessions of sequences of so many rows; those of one row are of one.
func (t Target) DeltaShares(width int) int {
	if width > plan.MaxBatch {
		return deltaShares.of(t.class).is
	}
	return width
}

// deltaTurns are the columns of a state that a threadgroup moves on at a time in prompts.
var deltaTurns = table[int]{
	{"", 16, Source{Measured, h200, "2026-11-28",
		"four simdgroups, one for each scheduler of a core. 512 rows of Ling-3.0-tiny took 270 us with the launches beside it; one threadgroup for a head took 564"}},
}

// DeltaTurn is how many of a head's columns a threadgroup moves on at a time.
func (t Target) DeltaTurn(dim int) int { return min(deltaTurns.of(t.class).is, dim) }

// DeltaColumns is how many of a head's columns a threadgroup has, in whole turns. It halves them until all heads
// together have a threadgroup for each core, or nearly.
func (t Target) DeltaColumns(heads, dim int) int {
	columns := dim
	for columns%2 == 0 && columns/2 >= t.DeltaTurn(dim) && 2*heads*(dim/columns) <= t.Cores() {
		columns /= 2
	}
	return columns
}
