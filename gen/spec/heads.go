package spec

import (
	"fmt"

	"mla/runtime/plan"
)

// The limits of attention over expanded heads; see runtime/plan/verify.
const (
	maxHeadsTile = 64
	maxShares    = 256
	headBlock    = 8 // columns that the blocks of its matrices have
)

// crossovers are from how many rows on expanded heads beat latent ones, by the columns of a
// latent row, and of a head's keys and values, without the rotated ones: measured on an NVIDIA H200 with trial
// kernels on tensor cores, at any depth of the cache. Not measured on Apple hardware.
var crossovers = []struct{ lat, nope, v, rows int }{
	{512, 128, 128, 155}, // DeepSeek-V2-Lite, Youtu-LLM: 16 heads
	{512, 192, 256, 330}, // GLM-4.7-Flash: 20 heads
}

// Expands says whether a sequence of so many rows attends to expanded heads. Making them costs
// (nope + v) · lat products for a head and cache row, once for all rows; then a query saves
// 2 lat + pe - (nope + pe + v) products with each. So the depth of the cache does not matter,
// and the quotient is what the crossover was measured at, or near it: 171 for 155, 398 for 330.
func (s *Spec) Expands(width int) bool {
	m := &s.Model
	if width <= plan.MaxBatch || (m.KVLoraRank|m.QKRopeHeadDim|m.QKNopeHeadDim|m.VHeadDim)%headBlock != 0 || s.HeadsTile() == 0 {
		return false
	}
	if from := s.Tuning.AttendHeads.From; from > 0 {
		return width >= from
	}
	for _, c := range crossovers {
		if c.lat == m.KVLoraRank && c.nope == m.QKNopeHeadDim && c.v == m.VHeadDim {
			return width >= c.rows
		}
	}
	heads := m.QKNopeHeadDim + m.VHeadDim
	saved := 2*m.KVLoraRank - heads
	return saved > 0 && width*saved >= heads*m.KVLoraRank
}

// HeadsTile is how many cache rows of halves attention over heads takes at a time: as many as
// the tuning allows and threadgroup memory has room for; 0: none. See AttendHeadsBytes. On NVIDIA
// GPUs lanes know which scores are theirs and place columns so that banks do not clash: what they have
// no use for may be left out.
func (s *Spec) HeadsTile() int {
	t, m := &s.Tuning.AttendHeads, &s.Model
	for tile := min(t.Tile, t.SplitK*simdgroup); tile >= 2*headBlock && tile >= headBlock*t.SplitK; tile /= 2 {
		for _, roomy := range []bool{true, s.Class != plan.ClassNVIDIA} {
			if AttendHeadsBytes(m.QKNopeHeadDim+m.QKRopeHeadDim, m.VHeadDim, tile, t.Simdgroups, t.SplitK, t.RowsPerSimdgroup/headBlock, roomy) <= maxMemory {
				return tile
			}
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
		scores := 4 * simdgroups * 8 * (rows/max(min(rows/headBlock, splitK), 1) + 4)
		keyBytes, valueBytes := 2*terms*rows*(keys+pad), 2*terms*values*(rows+pad)
		if pad == 0 {
			most = max(most, max(keyBytes, scores)+valueBytes)
		} else {
			most = max(most, keyBytes+valueBytes+scores)
		}
	}
	return most
}

func (a AttendHeads) check() error {
	power := func(n int) bool { return n > 0 && n&(n-1) == 0 }
	switch {
	case a.RowsPerSimdgroup < 8 || a.RowsPerSimdgroup > simdgroup || a.RowsPerSimdgroup%headBlock != 0:
		return fmt.Errorf("tuning.attend_heads.rows_per_simdgroup is %d; expected a multiple of %d up to %d", a.RowsPerSimdgroup, headBlock, simdgroup)
	case a.Simdgroups < 1 || a.Simdgroups > maxSimdgroups:
		return fmt.Errorf("tuning.attend_heads.simdgroups is %d; expected 1 to %d", a.Simdgroups, maxSimdgroups)
	case !power(a.SplitK) || a.Simdgroups%a.SplitK != 0:
		return fmt.Errorf("tuning.attend_heads.split_k is %d; expected a power of two that divides simdgroups, %d", a.SplitK, a.Simdgroups)
	case !power(a.Tile) || a.Tile < 2*headBlock || a.Tile > maxHeadsTile:
		return fmt.Errorf("tuning.attend_heads.tile is %d; expected a power of two from %d to %d", a.Tile, 2*headBlock, maxHeadsTile)
	case a.From < 0 || a.From > plan.MaxWidth:
		return fmt.Errorf("tuning.attend_heads.from is %d; expected up to %d", a.From, plan.MaxWidth)
	}
	return nil
}

// ExpandShares is how many threadgroups share the pages of a head's columns: so many that a large
// GPU has seven to nine threadgroups for each multiprocessor, which holds three, and the last ones leave
// little of it idle. Keys, which take two pages at a time, have half as many as values.
func (s *Spec) ExpandShares(keys bool) int {
	m := &s.Model
	groups := m.NumAttentionHeads * (ceil(m.QKNopeHeadDim, plan.ExpandKeys) + 2*ceil(m.VHeadDim, plan.ExpandValues))
	shares := 1
	for 2*shares < maxShares && 2*shares*groups <= 9*Multiprocessors {
		shares *= 2
	}
	if keys {
		return shares
	}
	return 2 * shares
}
