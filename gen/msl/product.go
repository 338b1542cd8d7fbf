package msl

import (
	"fmt"
	"slices"

	"mla/runtime/plan"
	"mla/runtime/plan/verify"
	"mla/runtime/quant"
)

// Products of weights and the inputs of many rows: templates/msl/lib/product.metal. A simdgroup makes N rows
// of results, a multiple of 8, for the Tokens inputs in its threadgroup's tile.

// The layout of threadgroup memory. product.metal has the same numbers.
const (
	stepColumns = 128 // columns of a step
	inputRow    = 144 // halves of one input's columns of a step
	partRow     = 72  // halves of one input's columns of a part of a step; floats take the same bytes
	ownPartRow  = 40  // the same for the smaller parts in a simdgroup's own tile
	stagedRow   = 36  // halves of a staged row of weights
	stagedRows  = 16  // rows of weights that are staged at a time
	ownTile     = 16  // largest number of inputs for which each simdgroup has tiles of its own
	laneWords   = 11  // most words of a run of quantised weights (Q6_K)
	floatWords  = 32  // words of a run of floats
	sectorBytes = 32  // copies of 16 bytes go in pairs, which take twice as long if target and source have different alignments
	entryWords  = 3   // words of an entry in experts_batch.metal
	drawnWords  = 2   // words for the drawn tiles in experts_batch.metal
	stepsAhead  = 2   // steps of a prompt whose loads may be in flight; twice as many for Q4_0
)

// matrix returns the shape of one entry of a part's weights.
func matrix(p plan.Part) (rows, cols int) {
	for _, w := range plan.WeightsOf(p) {
		return w.Rows, w.Cols
	}
	return 0, 0
}

// matrices returns how many matrices a part multiplies by: one or two.
func (v *partView) matrices() int {
	if v.Product.Up >= 0 {
		return 2
	}
	return 1
}

// Tiles returns how many threadgroups have the same weights, for one tile of rows each.
func (v *partView) Tiles() int {
	if p, ok := v.P.(*plan.MatVec); ok && p.Tokens > 0 {
		return ceil(v.Width, p.Tokens)
	}
	return 1
}

// FirstRow returns the first row of the threadgroup's tile.
func (v *partView) FirstRow() string {
	if v.Tiles() > 1 {
		return "first_row"
	}
	return "0u"
}

// Shares returns how many threadgroups share the tiles of an entry.
func (v *partView) Shares() int {
	if p, ok := v.P.(*plan.Experts); ok && p.Tokens > 0 {
		return p.Shares
	}
	return 1
}

// Share returns which of these threadgroups this one is.
func (v *partView) Share() string {
	return fmt.Sprintf("%s / %du", v.Number(), v.Entries*v.RowGroups())
}

// persistent returns how many persistent threadgroups share the tiles of experts; 0: there is one threadgroup
// for each tile of weights.
func (v *partView) persistent() int {
	if p, ok := v.P.(*plan.Experts); ok {
		return p.Persistent
	}
	return 0
}

// RowBlocks and TokenBlocks are the numbers of 8 × 8 blocks along the rows and inputs that a simdgroup makes
// of one matrix; Blocks is the number of blocks in all, of one or both matrices.
func (v *partView) RowBlocks() int   { return v.N / block }
func (v *partView) TokenBlocks() int { return v.Product.Tokens / block }
func (v *partView) Blocks() int      { return v.matrices() * v.RowBlocks() * v.TokenBlocks() }

// WeightRows returns the type of a lane's rows of the matrix in a slot.
func (v *partView) WeightRows(slot int) string {
	_, cols := matrix(v.P)
	if v.parts() {
		return fmt.Sprintf("weight_step<%s, %du, %du>", v.Tag(slot), cols, v.RowBlocks())
	}
	return fmt.Sprintf("weight_rows<%s, %du, %du, %du, %du>", v.Tag(slot), cols, v.RowBlocks(), v.Product.Tokens, v.Room())
}

// MatrixAt returns a pointer to the matrix of the threadgroup's entry.
func (v *partView) MatrixAt(slot int) (string, error) {
	if v.Entries == 1 {
		return v.Name(slot), nil
	}
	stride, err := v.Stride(slot)
	return fmt.Sprintf("%s + entry * %s", v.Name(slot), stride), err
}

// RowsAt returns a pointer to the simdgroup's first row of the matrix in a slot.
func (v *partView) RowsAt(slot int) (string, error) {
	m, err := v.MatrixAt(slot)
	_, cols := matrix(v.P)
	return fmt.Sprintf("%s + ulong(row) * %s::row_bytes(%du)", m, v.Tag(slot), cols), err
}

// Narrow reports whether the part is for a batch, whose rows do not fill the largest tile of inputs.
func (v *partView) Narrow() bool { return !verify.IsPrompt(v.Product.Tokens) }

// TileInputs returns the type that finds the inputs of the threadgroup's tile.
func (v *partView) TileInputs() string {
	in, _ := v.input()
	nth, rows := 0, ""
	if p, ok := v.P.(*plan.Experts); ok {
		nth, rows = in.Stride, fmt.Sprintf("rows_selected<%d>", p.K)
		if p.Persistent > 0 {
			rows = "tiles_t"
		}
	} else {
		rows = v.TileRows()
	}
	elem := inNamespace.typeName(v.printer.elemType(v.Slots[in.Slot].Elem))
	return fmt.Sprintf("tile_inputs<%s, %du, %du, %s>", elem, v.RowStride(in.Slot), nth, rows)
}

// TileRows returns the type that finds the rows of the tile when they are consecutive.
func (v *partView) TileRows() string {
	return fmt.Sprintf("rows_between<%t>", v.Width%v.Product.Tokens == 0)
}

// InputsAt returns the base of the inputs in device memory.
func (v *partView) InputsAt() string {
	in, entry := v.input()
	if _, ok := v.P.(*plan.Experts); ok {
		entry = ""
	}
	return v.kernelView.Ptr(in, entry)
}

// UpRows returns the type of a lane's rows of the second matrix.
func (v *partView) UpRows() string {
	if up := v.Product.Up; up >= 0 {
		return v.WeightRows(up)
	}
	if v.parts() {
		return "no_step"
	}
	return "no_weights"
}

// LaneRow returns the first of a lane's two rows among the rows of its simdgroup.
func (v *partView) LaneRow() string { return fmt.Sprintf("lane %% %du * 2u", v.N/2) }

// inputsPerTurn returns for how many inputs the lanes of all simdgroups that share rows have results at a
// time.
func (v *partView) inputsPerTurn() int { return 2 * simdWidth / v.N * v.Slices() }

// ResultTurns returns in how many turns a simdgroup's lanes go over the results for eight inputs.
func (v *partView) ResultTurns() int { return max(block/v.inputsPerTurn(), 1) }

// LaneTurns returns how many of n numbers each lane has.
func (v *partView) LaneTurns(n int) int { return ceil(n, simdWidth) }

// InputOf returns for which of eight inputs a lane has results in turn i. If there are more lanes than
// results, several lanes have the same.
func (v *partView) InputOf(i string) string {
	if v.Slices() > 1 {
		i = fmt.Sprintf("(%s * %du + slice)", i, v.Slices())
	}
	input := fmt.Sprintf("%s * %du + lane / %du", i, 2*simdWidth/v.N, v.N/2)
	if v.inputsPerTurn() > block {
		return fmt.Sprintf("(%s) %% %du", input, block)
	}
	return input
}

// OneOfEight returns the condition, after others, that no earlier lane has the same results.
func (v *partView) OneOfEight() string {
	if n := v.inputsPerTurn(); n > block {
		return fmt.Sprintf(" && slice < %du", v.Slices()*block/n)
	}
	return ""
}

// InPairs reports whether the results of a lane's two rows can be stored as a pair; those of an odd
// vocabulary cannot.
func (v *partView) InPairs() bool {
	p := v.P.(*plan.MatVec)
	return p.Rows%2 == 0 && p.Out.Offset%2 == 0 && p.Out.Stride%2 == 0 && v.RowStride(p.Out.Slot)%2 == 0
}

// ownTiles reports whether each simdgroup has tiles of its own, because it takes steps of its own.
func (v *partView) ownTiles() bool {
	if v.parts() {
		return v.Slices() > 1 || v.Simdgroups() == 1
	}
	return v.Product.Tokens <= ownTile && v.Slices() == v.Simdgroups()
}

// FirstStep returns the first step of a simdgroup.
func (v *partView) FirstStep() string {
	if v.ownTiles() {
		return "slice"
	}
	return "0u"
}

// StepStride returns the distance between the steps of a simdgroup.
func (v *partView) StepStride() int {
	if v.ownTiles() {
		return v.Slices()
	}
	return 1
}

// Copies reports whether the devices copy to threadgroup memory without registers.
func (v *partView) Copies() bool { return v.printer.target().Memory().AsyncCopies }

// TileHalves returns the size of a simdgroup's own tiles, in halves; 0: all simdgroups share one.
func (v *partView) TileHalves() int {
	if !v.ownTiles() {
		return 0
	}
	if v.parts() {
		return v.Product.Tokens * ownPartRow
	}
	return v.ownTileCount() * v.Product.Tokens * inputRow
}

// ownTileCount returns the number of a simdgroup's own tiles. If copies fill them, there are at least two;
// for eight inputs of halves there are up to four, at most one for each step.
func (v *partView) ownTileCount() int {
	in, _ := v.input()
	_, cols := matrix(v.P)
	switch {
	case !v.Copies():
		return 1
	case v.Slots[in.Slot].Elem == plan.ElemF32 || v.Product.Tokens > block || v.persistent() > 0:
		return 2
	}
	return min(max(ceil(ceil(cols, stepColumns), v.Slices()), 2), 4)
}

// TileFloats returns the size of the tiles of all simdgroups, in floats.
func (v *partView) TileFloats() int {
	if v.ownTiles() {
		return v.Simdgroups() * v.TileHalves() / 2
	}
	if v.parts() {
		return v.Product.Tokens * partRow / 2
	}
	n := v.Product.Tokens * inputRow / 2
	if in, _ := v.input(); v.Copies() && v.Slots[in.Slot].Elem != plan.ElemF32 {
		n *= 2 // two buffers of whole steps where activations are halves, else of halves of steps
	}
	return n
}

// StagedHalves returns a simdgroup's memory for staged weights, in halves. With two tiles of its own, weights
// are staged in one of these.
func (v *partView) StagedHalves() int {
	if v.ownTiles() && v.Copies() {
		return 0
	}
	return stagedRows * stagedRow
}

// RoomsAt returns where weights that are being copied are in scratch.
func (v *partView) RoomsAt() int { return v.TileFloats() + v.Simdgroups()*v.StagedHalves()/2 }

// Rooms returns a simdgroup's bytes for weights that are being copied.
func (v *partView) Rooms() int { return v.matrices() * v.Room() }

// Room returns these bytes for one matrix: what is left of the threadgroup's memory, for prompts at most a
// few steps.
func (v *partView) Room() int {
	if !v.Copies() {
		return 0
	}
	lists := 2 * v.Product.Tokens // factors and selections
	if v.persistent() > 0 {
		lists = v.factors() + v.selections() + v.resultFloats()
	}
	most := v.printer.target().BatchBytes(v.Kernel.Groups())
	if !v.Narrow() {
		most = v.printer.target().Memory().PromptSimdgroup * v.Simdgroups()
	}
	left := max(most/4-v.RoomsAt()-roundUp(lists, 4), 0)
	room := 4 * left / (v.Simdgroups() * v.matrices()) / sectorBytes * sectorBytes
	return min(room, stepsAhead*v.RowBlocks()*simdWidth*4*v.laneWords())
}

// laneWords returns how many words of a run of weights are copied. Floats are copied only in batches.
func (v *partView) laneWords() int {
	if v.Narrow() && v.Floats() {
		return floatWords
	}
	return laneWords
}

// Floats reports whether a mat-vec's weights may be float32, as those of a router.
func (v *partView) Floats() bool {
	p, ok := v.P.(*plan.MatVec)
	if !ok {
		return false
	}
	i := slices.Index(v.TypedSlots(), p.W)
	return slices.ContainsFunc(v.Variants, func(variant plan.Variant) bool { return variant.Types[i] == quant.F32 })
}

// BlockFloats returns a simdgroup's memory for results for eight inputs, of one or two matrices.
func (v *partView) BlockFloats() int { return v.matrices() * block * (v.N + 4) }

// resultFloats returns the memory for results of all simdgroups.
func (v *partView) resultFloats() int { return v.Simdgroups() * v.BlockFloats() }

// roomsEnd returns where the memory for weights that are being copied ends.
func (v *partView) roomsEnd() int { return v.RoomsAt() + v.Simdgroups()*v.Rooms()/4 }

// ResultsAt returns where simdgroups exchange results: in the memory of the tiles, or for persistent
// threadgroups after everything else, because copies of the next tile arrive meanwhile.
func (v *partView) ResultsAt() int {
	if v.persistent() == 0 {
		return 0
	}
	return v.roomsEnd()
}

// FactorsOfTile returns where the factors of the inputs' norms are: after the memory that tiles and results
// share.
func (v *partView) FactorsOfTile() int { return max(v.roomsEnd(), v.ResultsAt()+v.resultFloats()) }

// factors returns the number of these factors.
func (v *partView) factors() int {
	switch {
	case v.Product.NormApply == nil:
		return 0
	case v.persistent() > 0:
		return v.Width
	}
	return v.Product.Tokens
}

// FactorOf returns the index of the factor of an input.
func (v *partView) FactorOf() string {
	if v.persistent() > 0 {
		return fmt.Sprintf("selections[n * %du + i] / %du", v.ResultTurns(), v.P.(*plan.Experts).K)
	}
	return "8u * n + input"
}

// SelectionsOfTile returns where the tile's selections, or a persistent threadgroup's entries, are: after the
// factors.
func (v *partView) SelectionsOfTile() int { return v.FactorsOfTile() + v.factors() }

// MembersOfTile returns where the members of all experts are, after the entries.
func (v *partView) MembersOfTile() int {
	return v.SelectionsOfTile() + v.entries(v.P.(*plan.Experts))
}

// entries returns how many numbers the entries of all experts take.
func (v *partView) entries(p *plan.Experts) int {
	return entryWords * p.Grouping.Entries(v.Width, p.Tokens)
}

// selections returns how many numbers selections, or entries with their members, take.
func (v *partView) selections() int {
	p, ok := v.P.(*plan.Experts)
	switch {
	case !ok:
		return 0
	case p.Persistent > 0:
		return v.entries(p) + v.Selections() + drawnWords
	}
	return p.Tokens
}

// productFloats returns the threadgroup memory of a product. With asynchronous copies, persistent
// threadgroups take their whole share of a core. If they took less, a threadgroup of the next dispatch that
// takes more could not start where one of them has ended.
func (v *partView) productFloats() int {
	n := v.SelectionsOfTile() + v.selections()
	if v.persistent() > 0 && v.Copies() {
		return max(n, v.printer.target().BatchBytes(v.Kernel.Groups())/4)
	}
	return n
}
