package target

import (
	"mla/runtime/gguf/hparams"
	"mla/runtime/plan"
	"mla/runtime/plan/verify"
)

// AttendHeads is the shape of attention over expanded heads; see plan.AttendHeads.
type AttendHeads struct {
	// From is the smallest width of a sequence that expands heads; 0: the sizes of the heads decide.
	From             int
	RowsPerSimdgroup int // queries
	Simdgroups       int
	SplitK           int // simdgroups that share queries
	Tile             int // cache rows at most
}

// Over returns a with zeros replaced by the values of general.
func (a AttendHeads) Over(general AttendHeads) AttendHeads {
	OrElse(&a.From, general.From)
	OrElse(&a.RowsPerSimdgroup, general.RowsPerSimdgroup)
	OrElse(&a.Simdgroups, general.Simdgroups)
	OrElse(&a.SplitK, general.SplitK)
	OrElse(&a.Tile, general.Tile)
	return a
}

// HeadBlock is the number of rows and columns of the simdgroup matrices of attention.
const HeadBlock = verify.Block

// maxShares bounds how many threadgroups share the pages of the same columns of a head.
const maxShares = 256

var attendHeads = table[AttendHeads]{
	{"", AttendHeads{RowsPerSimdgroup: 8, Simdgroups: 8, SplitK: 2, Tile: 32}, Source{Estimated, "Apple GPUs", "2026-11-22",
		"one block of queries to a simdgroup: two would not leave a thread of any of them registers enough"}},
	{plan.ClassApple, AttendHeads{RowsPerSimdgroup: 32, Simdgroups: 8, SplitK: 8, Tile: plan.PageRows}, Source{Estimated, "Apple GPUs", "2026-11-28",
		"a simdgroup has 16 matrices of results at most, of heads of 256 columns; of keys, values and queries 0.6 blocks are loaded for each product. " +
			"llama.cpp's attention loads one, for 8 queries to a threadgroup, from the same memory"}},
}

// AttendHeads returns the default for tunings.
func (t Target) AttendHeads() AttendHeads { return attendHeads.of(t.class).is }

// crossover is the number of rows from which attention over expanded heads beats attention over latent rows,
// for the columns of a latent row and of a head's keys and values, without the rotated ones.
type crossover struct{ lat, nope, v, rows int }

var crossovers = table[[]crossover]{
	{"", []crossover{
		{512, 128, 128, 155}, // DeepSeek-V2-Lite, Youtu-LLM: 16 heads
		{512, 192, 256, 330}, // GLM-4.7-Flash: 20 heads
	}, Source{Measured, h200, "2026-11-22", "trial kernels on tensor cores, at any depth of the cache; the quotient that stands for other sizes is 171 for 155, 398 for 330"}},
}

// Expands reports whether a sequence of width rows attends to expanded heads. No batch does, which has at most
// batch rows.
//
// Expanding costs (nope + v) · lat products for each head and cache row, once for all rows of the sequence.
// Then each query saves 2 lat + pe - (nope + pe + v) products with that head and cache row. Both grow alike
// with the depth of the cache, so their quotient decides. crossovers has what was measured, which is near the
// quotient; for other sizes the quotient itself counts.
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

// tight says that a class specifies which lane holds which element of a simdgroup matrix. Then kernels need
// no copies of scores, and no padding against bank conflicts, in threadgroup memory.
var tight = table[bool]{
	{"", false, Source{Estimated, "Apple GPUs", "2026-11-24", "which lane has which element of a simdgroup matrix is not specified"}},
	{plan.ClassNVIDIA, true, Source{DataSheet, "NVIDIA H100 and H200", "2026-11-24", "PTX specifies the elements of mma fragments"}},
}

// HeadsTile returns how many cache rows of halves attention over heads takes at a time: the largest number
// that the tuning allows and threadgroup memory can hold; 0 if none fits. See AttendHeadsBytes.
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

// AttendHeadsBytes returns the threadgroup memory, in bytes, of attention over heads: rows of keys, columns
// of values, and for each simdgroup a block of scores. It is the larger need of caches of halves and of
// floats. A float is kept as two halves, in tiles of half as many rows. If the memory is not roomy, rows of
// halves have no padding, scores overwrite keys, and tiles of floats are halved again. At the end the results
// pass through the same memory. See templates/msl/lib/attend_heads.metal.
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

// HeadPartsBytes is AttendHeadsBytes for the form in which only scores pass through threadgroup memory: the
// scores of the simdgroups that share queries, or the results that each stores at a time, and the factors by
// which results are rescaled. See templates/msl/lib/attend_parts.metal.
func HeadPartsBytes(tile, simdgroups, splitK, blocks int) int {
	const stored = HeadBlock * (2*HeadBlock + 4)
	return 4 * simdgroups / splitK * (max(HeadBlock*blocks*(tile+4), splitK*stored) + blocks*HeadBlock*HeadBlock + splitK)
}

// expandWaves is the largest number of threadgroups for each core that expand heads.
var expandWaves = table[int]{
	{"", 9, Source{Measured, h200, "2026-11-22", "seven to nine for each core, which holds three: the last ones leave little of it idle"}},
}

// ExpandShares returns how many threadgroups share the pages of the same columns of a head. Keys, which take
// two pages at a time, have half as many as values.
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
