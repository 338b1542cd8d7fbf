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
	{"", plan.MaxBatch + 1, Source{Measured, h200, "2026-11-28",
		"512 rows of Kimi-Linear take 219 us + 71 row by row, 134 us + 87 by chunks; 2,048 rows of Ling-3.0-tiny are 26 % faster. Narrower prompts were not measured: both forms take their time row by row"}},
	{MetalClass, 0, Source{Estimated, "Apple GPUs", "2026-11-28",
		"nothing was measured there. By chunks a prompt takes 6 operations for each number of a state in place of 7, but half as much memory again"}},
}

// DeltaChunks says whether sequences of width rows go by chunks, of heads that threadgroups share evenly.
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

// DeltaShares is how many threadgroups of the same columns share the sessions of a prompt: as many as there are cores
// for. More of them would find nothing to do, and take room on cores from those that do.
func (t Target) DeltaShares(heads, dim int) int {
	return min(max(t.Cores()/(heads*(dim/t.DeltaColumns(heads, dim))), 1), plan.MaxBatch)
}

// deltaTurns are the columns of a state that a threadgroup moves on at a time in prompts.
var deltaTurns = table[int]{
	{"", 16, Source{Measured, h200, "2026-11-28",
		"four simdgroups, one for each scheduler of a core. 512 rows of Ling-3.0-tiny took 270 us with the launches beside it; one threadgroup for a head took 564"}},
}

// DeltaTurn is how many of a head's columns a threadgroup moves on at a time.
func (t Target) DeltaTurn(dim int) int { return min(deltaTurns.of(t.class).is, dim) }

// mostColumns is how many columns of a head's a threadgroup has at most: vectors of a piece of rows with 256 would not fit
// into threadgroup memory.
const mostColumns = 128

// DeltaColumns is how many of a head's columns a threadgroup has, in whole turns. It halves them until all heads
// together have a threadgroup for each core, or nearly.
func (t Target) DeltaColumns(heads, dim int) int {
	columns, turn := dim, t.DeltaTurn(dim)
	for columns%(2*turn) == 0 && (columns > mostColumns || 2*heads*(dim/columns) <= t.Cores()) {
		columns /= 2
	}
	return columns
}
