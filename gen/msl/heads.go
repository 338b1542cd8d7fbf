package msl

import (
	"fmt"

	"mla/gen/target"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// Expanded heads: templates/msl/lib/expand_heads.metal and attend_heads.metal.

// makerTiles is the threadgroup memory of the kernel that expands heads, in halves: tiles of latent columns,
// followed by weights.
type makerTiles struct{ values, keys int }

// As the structs of expand_steps.metal have them, with two tiles of each, and those of expand_parts.metal with one.
var (
	// stepMaker is the memory of the structs in expand_steps.metal, which have two tiles of each; partMaker
	// of those in expand_parts.metal, which have one.
	stepMaker = makerTiles{2*plan.PageRows*(64+8) + 4*stagedRows*stagedRow, 2*2*plan.PageRows*(32+8) + 2*32*(64+8)}
	partMaker = makerTiles{plan.PageRows/4*partRow + 4*stagedRows*stagedRow, plan.PageRows*(32+8) + 32*(64+8)}
)

// HeadColumns returns how many columns of a head a threadgroup makes at a time.
func (v *partView) HeadColumns() int { return v.P.(*plan.ExpandHeads).Columns() }

// ColumnGroups returns how many threadgroups make one head for a page.
func (v *partView) ColumnGroups() int {
	p := v.P.(*plan.ExpandHeads)
	return ceil(p.Dim, p.Columns())
}

// HeadsPage returns the layout of a page of expanded heads.
func (v *partView) HeadsPage() plan.HeadsPage { return v.printer.bundle.Model.HeadsPage() }

// PageElements returns the number of elements of the given number of columns, for the rows of a page.
func (v *partView) PageElements(columns int) int { return columns * plan.PageRows }

// HeadMaker returns the type that makes keys or values of a page.
func (v *partView) HeadMaker() string {
	p := v.P.(*plan.ExpandHeads)
	kind := "value_maker"
	if p.Keys {
		kind = "key_maker"
	}
	if v.parts() {
		kind = "part_" + kind
	}
	return fmt.Sprintf("%s<%s, %s, %du, %du, %du, act_t>", kind, v.Tag(p.W), v.Tag(p.Cache.Slot), p.LatDim, p.PeDim, p.Dim)
}

// RowTiles returns how many threadgroups share the rows of a head.
func (v *partView) RowTiles() int { return ceil(v.Width, v.P.(*plan.AttendHeads).RowsPerGroup) }

// QueryBlocks returns how many blocks of queries a simdgroup has.
func (v *partView) QueryBlocks() int {
	p := v.P.(*plan.AttendHeads)
	return p.RowsPerGroup * p.SplitK / v.Simdgroups() / block
}

// HeadsAttention returns the type that attends to expanded heads.
func (v *partView) HeadsAttention() string {
	p := v.P.(*plan.AttendHeads)
	shape := fmt.Sprintf("<%du, %du, %du, %du, %du, %du, %du, %du", v.Width, p.NopeDim, p.PeDim, p.VDim, v.QueryBlocks(), p.SplitK, v.Simdgroups(), p.Tile)
	if v.parts() {
		return "attend_parts" + shape + ", act_t>"
	}
	return "attend_heads" + shape + fmt.Sprintf(", %t, act_t>", v.roomy())
}

// roomy reports whether threadgroup memory suffices for the layout with padding; see target.AttendHeadsBytes.
func (v *partView) roomy() bool { return v.headsBytes(true) <= target.ThreadgroupBytes }

func (v *partView) headsBytes(roomy bool) int {
	p := v.P.(*plan.AttendHeads)
	if v.parts() {
		return target.HeadPartsBytes(p.Tile, v.Simdgroups(), p.SplitK, v.QueryBlocks())
	}
	return target.AttendHeadsBytes(p.NopeDim+p.PeDim, p.VDim, p.Tile, v.Simdgroups(), p.SplitK, v.QueryBlocks(), roomy)
}

// headsFloats returns the threadgroup memory of a part that expands heads or attends to them, in floats.
func (v *partView) headsFloats() int {
	switch p := v.P.(type) {
	case *plan.ExpandHeads:
		tiles := stepMaker
		if v.parts() {
			tiles = partMaker
		}
		if p.Keys {
			return tiles.keys / 2
		}
		return tiles.values / 2
	case *plan.AttendHeads:
		return ceil(v.headsBytes(v.roomy()), 4)
	}
	return 0
}

// headsRegisters estimates attention over heads of halves: a simdgroup's blocks of results and scores, blocks
// of queries, of keys for two blocks of columns, and a thread's part of the next keys or values.
func headsRegisters(p *plan.AttendHeads, threads int) Registers {
	blocks, columns, each := p.RowsPerGroup*p.SplitK/block*simdWidth/threads, (p.NopeDim+p.PeDim)/block, p.Tile/p.SplitK/block
	loads := ceil(p.Tile/block*max(p.NopeDim+p.PeDim, p.VDim), threads)
	return Registers{
		Form: MatrixForm, Cache: quant.F16, Tile: p.Tile,
		Accumulators: 2*blocks*(p.VDim/block) + 2*blocks*each,
		Fragments:    blocks*columns + 2*each,
		Loads:        4 * loads,
		Addresses:    loopRegisters + 4*blocks,
	}
}

// headPartsRegisters estimates the form in which no copies pass through registers: a simdgroup's blocks of
// results and of a tile's scores, blocks of queries and of keys or of weights and of values, and a thread's
// scores.
func headPartsRegisters(p *plan.AttendHeads, threads int) Registers {
	blocks, tile := p.RowsPerGroup*p.SplitK/block*simdWidth/threads, p.Tile/block
	scores := ceil(blocks*tile, p.SplitK)
	return Registers{
		Form: MatrixForm, Cache: quant.F16, Tile: p.Tile,
		Accumulators: 2*blocks*ceil(p.VDim/block, p.SplitK) + 2*scores,
		Fragments:    blocks + 1 + 2*scores,
		Addresses:    loopRegisters + 4,
	}
}

func attendsHeads(p plan.Part) bool { _, ok := p.(*plan.AttendHeads); return ok }
func expandsHeads(p plan.Part) bool { _, ok := p.(*plan.ExpandHeads); return ok }

// StepLength returns the number of consecutive positions with the same temperature.
func (v *partView) StepLength() int { return max(v.P.(*plan.AttendHeads).Temperature.Length, 1) }
