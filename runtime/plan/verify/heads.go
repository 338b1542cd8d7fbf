package verify

import (
	"fmt"

	"mla/runtime/plan"
)

// sharesHeads says whether a part writes or reads expanded heads. A kernel with such a part may have no other
// memory of SpaceHeads.
func sharesHeads(p plan.Part) bool {
	switch p.(type) {
	case *plan.ExpandHeads, *plan.AttendHeads:
		return true
	}
	return false
}

// Shapes of expand_heads.metal and attend_heads.metal in the library.
const (
	expandThreads = 128 // of ExpandHeads: four simdgroups, each with 32 columns of a page
	maxTile       = 64  // cache rows of a tile; divides a page
	maxShares     = 256
)

// checkExpand checks that columns form whole blocks, and that there are as many threads as the template
// needs.
func checkExpand(k *plan.Kernel, p *plan.ExpandHeads) error {
	if p.Dim%Block != 0 || p.LatDim%Block != 0 || p.PeDim%Block != 0 || k.Threads != expandThreads || p.Shares > maxShares {
		return fmt.Errorf("heads of %d columns of rows of %d and %d in %d shares, by %d threads; expected multiples of %d and %d threads",
			p.Dim, p.LatDim, p.PeDim, p.Shares, k.Threads, Block, expandThreads)
	}
	return nil
}

// checkHeads checks that simdgroups share queries and tiles evenly, in whole blocks.
func checkHeads(k *plan.Kernel, p *plan.AttendHeads) error {
	simdgroups := k.Threads / SimdWidth
	blocks := p.RowsPerGroup * p.SplitK / Block / simdgroups // of queries, per simdgroup
	power := p.Tile&(p.Tile-1) == 0 && p.SplitK&(p.SplitK-1) == 0
	switch {
	case p.NopeDim%Block != 0 || p.PeDim%Block != 0 || p.VDim%Block != 0:
		return fmt.Errorf("heads of %d + %d and %d columns; expected multiples of %d", p.NopeDim, p.PeDim, p.VDim, Block)
	case !power || p.Tile > maxTile || p.Tile < 2*Block || p.SplitK*Block > p.Tile || p.Tile > p.SplitK*SimdWidth:
		return fmt.Errorf("tiles of %d cache rows for %d simdgroups; expected powers of two up to %d, and %d to %d rows for each", p.Tile, p.SplitK, maxTile, Block, SimdWidth)
	case blocks*Block*simdgroups != p.RowsPerGroup*p.SplitK || blocks < 1 || blocks > 4 || simdgroups%p.SplitK != 0:
		return fmt.Errorf("%d queries for %d simdgroups, %d to a query; expected 8 to 32 for each", p.RowsPerGroup, simdgroups, p.SplitK)
	}
	for _, v := range []plan.Vec{p.QNope, p.QPe} {
		if v.Offset%inputAlign != 0 || v.Stride%inputAlign != 0 {
			return fmt.Errorf("queries at %d, %d apart; expected multiples of %d", v.Offset, v.Stride, inputAlign)
		}
	}
	return nil
}
