package target

import (
	"math/bits"

	"mla/runtime/plan"
	"mla/runtime/plan/verify"
)

// hybridSimdgroups is the least number of simdgroups of attention in hybrid models, by the number of heads.
var hybridSimdgroups = table[map[int]int]{
	{"", map[int]int{32: 16}, Source{Measured, h200, "2026-11-28",
		"with 8 simdgroups matrices of 32 heads of 512 columns pass the budget of registers. One row of Kimi-Linear at depth 64 took 50.8 us in the plain form, 7.4 in matrices"}},
}

// HybridSimdgroups returns the least number of simdgroups for a number of heads; 0: the same as for other
// models.
func (t Target) HybridSimdgroups(heads int) int { return hybridSimdgroups.of(t.class).is[heads] }

// deltaChunks says whether the delta rule of a prompt runs in chunks of rows.
var deltaChunks = table[bool]{
	{"", true, Source{Measured, h200, "2026-11-28",
		"512 rows of Kimi-Linear take 219 us + 71 row by row, 134 us + 87 by chunks; 2,048 rows of Ling-3.0-tiny are 26 % faster. Narrower prompts were not measured: both forms take their time row by row"}},
	{MetalClass, false, Source{Estimated, "Apple GPUs", "2026-11-28",
		"nothing was measured there. By chunks a prompt takes 6 operations for each number of a state in place of 7, but half as much memory again"}},
}

// DeltaChunks reports whether prompts run the delta rule in chunks. dim must be a size that threads can share
// evenly.
func (t Target) DeltaChunks(dim int) bool {
	return deltaChunks.of(t.class).is && dim <= verify.MaxChunkDim && bits.OnesCount(uint(dim)) == 1
}

// FoldLanes returns how many lanes share a column of the state when the delta rule runs in chunks.
func (t Target) FoldLanes(dim int) int { return min(16, dim/4) }

// FoldThreads returns the number of threads of a threadgroup when the delta rule runs in chunks. A thread has
// at most 4 columns.
func (t Target) FoldThreads(heads, dim int) int {
	return max(t.DeltaColumns(heads, dim)*t.FoldLanes(dim)/4, 128)
}

// DeltaShares returns how many threadgroups with the same columns share the sessions of a prompt: as many as
// there are cores for. More would find nothing to do, and take up space on the cores.
func (t Target) DeltaShares(heads, dim int) int {
	return min(max(t.Cores()/(heads*(dim/t.DeltaColumns(heads, dim))), 1), plan.DefaultBatch)
}

// deltaTurns is how many columns of a state a threadgroup updates at a time in prompts.
var deltaTurns = table[int]{
	{"", 16, Source{Measured, h200, "2026-11-28",
		"four simdgroups, one for each scheduler of a core. 512 rows of Ling-3.0-tiny took 270 us with the launches beside it; one threadgroup for a head took 564"}},
}

// DeltaTurn returns how many of a head's columns a threadgroup updates at a time.
func (t Target) DeltaTurn(dim int) int { return min(deltaTurns.of(t.class).is, dim) }

// mostColumns is the largest number of a head's columns that one threadgroup has.
var mostColumns = table[int]{
	{"", 128, Source{Estimated, "Apple GPUs", "2026-11-28", "with 256, the vectors of a piece of rows would not fit into threadgroup memory"}},
	{plan.ClassApple, 32, Source{Estimated, "Apple GPUs", "2026-11-28", "with 64, a thread of delta_rule_x512 needs more than 128 registers: it spilled 112 bytes (go run ./gen/registers)"}},
}

// DeltaColumns returns how many of a head's columns a threadgroup has, in whole turns. It halves the number
// until all heads in one launch have about as many threadgroups as there are cores.
func (t Target) DeltaColumns(heads, dim int) int {
	columns, turn := dim, t.DeltaTurn(dim)
	for columns%(2*turn) == 0 && (columns > mostColumns.of(t.class).is || 2*heads*(dim/columns) <= t.Cores()) {
		columns /= 2
	}
	return columns
}
