package target

import (
	"mla/runtime/gguf/hparams"
	"mla/runtime/plan"
	"mla/runtime/plan/verify"
)

// AttendHeads is how attention over expanded heads is shared out; see plan.AttendHeads.
type AttendHeads struct {
	// From is the fewest rows of a sequence that expands heads; 0: what its heads' sizes say.
	From             int
	RowsPerSimdgroup int // queries
	Simdgroups       int
	SplitK           int // simdgroups that share queries
	Tile             int // cache rows at most
}

// Over is a, and general in what a leaves out.
func (a AttendHeads) Over(general AttendHeads) AttendHeads {
	OrElse(&a.From, general.From)
	OrElse(&a.RowsPerSimdgroup, general.RowsPerSimdgroup)
	OrElse(&a.Simdgroups, general.Simdgroups)
	OrElse(&a.SplitK, general.SplitK)
	OrElse(&a.Tile, general.Tile)
	return a
}

// HeadBlock is how many columns the blocks of attention's matrices have.
const HeadBlock = verify.Block

// maxShares bounds how many threadgroups share the pages of a head's columns.
const maxShares = 256

var attendHeads = table[AttendHeads]{
	{"", AttendHeads{RowsPerSimdgroup: 8, Simdgroups: 8, SplitK: 2, Tile: 32}, Source{Estimated, "Apple GPUs", "2026-11-22",
		"one block of queries to a simdgroup: two would not leave a thread of any of them registers enough"}},
	{plan.ClassApple, AttendHeads{RowsPerSimdgroup: 32, Simdgroups: 8, SplitK: 8, Tile: plan.PageRows}, Source{Estimated, "Apple GPUs", "2026-11-28",
		"a simdgroup has 16 matrices of results at most, of heads of 256 columns; of keys, values and queries 0.6 blocks are loaded for each product. " +
			"llama.cpp's attention loads one, for 8 queries to a threadgroup, from the same memory"}},
}

// AttendHeads is how attention over expanded heads is shared out where a tuning says nothing.
func (t Target) AttendHeads() AttendHeads { return attendHeads.of(t.class).is }

// crossover is from how many rows on expanded heads beat latent ones, by the columns of a latent
// row, and of a head's keys and values, without the rotated ones.
type crossover struct{ lat, nope, v, rows int }

var crossovers = table[[]crossover]{
	{"", []crossover{
		{512, 128, 128, 155}, // DeepSeek-V2-Lite, Youtu-LLM: 16 heads
		{512, 192, 256, 330}, // GLM-4.7-Flash: 20 heads
	}, Source{Measured, h200, "2026-11-22", "trial kernels on tensor cores, at any depth of the cache; the quotient that stands for other sizes is 171 for 155, 398 for 330"}},
}

// Expands says whether a sequence of a given number of rows attends to expanded heads: no batch does, of up to batch
// rows. Making them costs
// (nope + v) · lat products for a head and cache row, once for all rows; then a query saves
// 2 lat + pe - (nope + pe + v) products with each. So the depth of the cache does not matter,
// and the quotient is what a crossover was measured at, or near it.
func (t Target) Expands(width, batch int, m *hparams.Dims, a *AttendHeads) bool {
	if width <= batch || (m.KVLoraRank|m.QKRopeHeadDim|m.QKNopeHeadDim|m.VHeadDim)%HeadBlock != 0 || t.HeadsTile(m, a) == 0 {
		return false
	}
	if a.From > 0 {
		return width >= a.From
	}
	for _, c := range crossovers.of(t.class).is {
		if c.lat == m.KVLoraRank && c.nope == m.QKNopeHeadDim && c.v == m.VHeadDim {
			return width >= c.rows
		}
	}
	heads := m.QKNopeHeadDim + m.VHeadDim
	saved := 2*m.KVLoraRank - heads
	return saved > 0 && width*saved >= heads*m.KVLoraRank
}

// tight says of a class that its lanes know which scores are theirs and place columns so that banks
// do not clash: what they have no use for may be left out of threadgroup memory.
var tight = table[bool]{
	{"", false, Source{Estimated, "Apple GPUs", "2026-11-24", "which lane has which element of a simdgroup matrix is not specified"}},
	{plan.ClassNVIDIA, true, Source{DataSheet, "NVIDIA H100 and H200", "2026-11-24", "PTX specifies the elements of mma fragments"}},
}

// HeadsTile is how many cache rows of halves attention over heads takes at a time: as many as
// the tuning allows and threadgroup memory has room for; 0: none. See AttendHeadsBytes.
func (t Target) HeadsTile(m *hparams.Dims, a *AttendHeads) int {
	for tile := min(a.Tile, a.SplitK*SimdWidth); tile >= 2*HeadBlock && tile >= HeadBlock*a.SplitK; tile /= 2 {
		if t.Parts() {
			if HeadPartsBytes(tile, a.Simdgroups, a.SplitK, a.RowsPerSimdgroup/HeadBlock) <= ThreadgroupBytes {
				return tile
			}
			continue
		}
		bytes := func(roomy bool) int {
			return AttendHeadsBytes(m.QKNopeHeadDim+m.QKRopeHeadDim, m.VHeadDim, tile, a.Simdgroups, a.SplitK, a.RowsPerSimdgroup/HeadBlock, roomy)
		}
		if bytes(true) <= ThreadgroupBytes || tight.of(t.class).is && bytes(false) <= ThreadgroupBytes {
			return tile
		}
	}
	return 0
}

// AttendHeadsBytes is the threadgroup memory of attention over heads, of halves or of floats,
// whichever is more: rows of keys, columns of values, and for each simdgroup a block of its
// scores. Floats are kept as two halves each, of half as many rows. Memory that is not roomy has rows of
// halves without padding, and scores in the place of keys; tiles of floats are half as long then.
// In the end results pass through the same memory. See templates/msl/lib/attend_heads.metal.
func AttendHeadsBytes(keys, values, tile, simdgroups, splitK, blocks int, roomy bool) int {
	most := 4 * simdgroups * (8*36 + 64 + 16*blocks)
	for terms := 1; terms <= 2; terms++ {
		rows, pad := tile/terms, 8
		if !roomy && terms == 1 {
			pad = 0
		} else if !roomy {
			rows /= 2
		}
		scores := 4 * simdgroups * 8 * (rows/max(min(rows/HeadBlock, splitK), 1) + 4)
		keyBytes, valueBytes := 2*terms*rows*(keys+pad), 2*terms*values*(rows+pad)
		if pad == 0 {
			most = max(most, max(keyBytes, scores)+valueBytes)
		} else {
			most = max(most, keyBytes+valueBytes+scores)
		}
	}
	return most
}

// HeadPartsBytes is the same where only scores pass through threadgroup memory: rows of them for those simdgroups that
// share queries, or the results of each that are stored at a time, and what results shrink by. See
// templates/msl/lib/attend_parts.metal.
func HeadPartsBytes(tile, simdgroups, splitK, blocks int) int {
	const stored = HeadBlock * (2*HeadBlock + 4)
	return 4 * simdgroups / splitK * (max(HeadBlock*blocks*(tile+4), splitK*stored) + blocks*HeadBlock*HeadBlock + splitK)
}

// expandWaves is how many threadgroups that make heads there may be for each core.
var expandWaves = table[int]{
	{"", 9, Source{Measured, h200, "2026-11-22", "seven to nine for each core, which holds three: the last ones leave little of it idle"}},
}

// ExpandShares is how many threadgroups share the pages of a head's columns. Keys, which take two
// pages at a time, have half as many as values.
func (t Target) ExpandShares(m *hparams.Dims, keys bool) int {
	groups := m.NumAttentionHeads * (ceil(m.QKNopeHeadDim, plan.ExpandKeys) + 2*ceil(m.VHeadDim, plan.ExpandValues))
	shares := 1
	for 2*shares < maxShares && 2*shares*groups <= expandWaves.of(t.class).is*t.Cores() {
		shares *= 2
	}
	if keys {
		return shares
	}
	return 2 * shares
}
