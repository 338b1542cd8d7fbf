package msl

import (
	"fmt"
	"slices"

	"mla/runtime/plan"
	"mla/runtime/plan/verify"
	"mla/runtime/quant"
)

// Products of weights and the inputs of many rows: templates/msl/lib/product.metal. A simdgroup makes N rows
// of results, a multiple of 8, for the Tokens inputs of its threadgroup's tile.

// The layout of threadgroup memory, as product.metal has it.
const (
	stepColumns = 128 // columns of a step
	inputRow    = 144 // halves of one input's columns of a step
	partRow     = 72  // of a part of a step, or as many bytes of floats
	ownPartRow  = 40  // of the smaller part in tiles of a simdgroup's own
	stagedRow   = 36  // halves of a staged row of weights
	stagedRows  = 16  // that are staged at a time
	ownTile     = 16  // most inputs of which each simdgroup has tiles of its own
	laneWords   = 11  // most words of a run of quantised weights: of Q6_K
	floatWords  = 32  // of a run of floats
	sectorBytes = 32  // copies of 16 bytes come in pairs, which take twice as long where the target is not aligned as the source
	entryWords  = 3   // of an entry of experts_batch.metal
	drawnWords  = 2   // tiles that are drawn there
	stepsAhead  = 2   // steps of a prompt whose loads may be in flight; of Q4_0 twice as many
)

// matrix is the shape of one entry of a part's weights.
func matrix(p plan.Part) (rows, cols int) {
	for _, w := range plan.WeightsOf(p) {
		return w.Rows, w.Cols
	}
	return 0, 0
}

// matrices is how many matrices a part multiplies by: one, or two.
func (v *partView) matrices() int {
	if v.Product.Up >= 0 {
		return 2
	}
	return 1
}

// Tiles is how many threadgroups share a threadgroup's weights, for a tile of rows each.
func (v *partView) Tiles() int {
	if p, ok := v.P.(*plan.MatVec); ok && p.Tokens > 0 {
		return ceil(v.Width, p.Tokens)
	}
	return 1
}

// FirstRow is the first row of the threadgroup's tile.
func (v *partView) FirstRow() string {
	if v.Tiles() > 1 {
		return "first_row"
	}
	return "0u"
}

// Shares is how many threadgroups share the tiles of an entry, Share which of them this is if there are several.
func (v *partView) Shares() int {
	if p, ok := v.P.(*plan.Experts); ok && p.Tokens > 0 {
		return p.Shares
	}
	return 1
}

func (v *partView) Share() string {
	return fmt.Sprintf("%s / %du", v.Number(), v.Entries*v.RowGroups())
}

// persistent is how many threadgroups share the tiles of experts; 0: of each tile of weights there is one.
func (v *partView) persistent() int {
	if p, ok := v.P.(*plan.Experts); ok {
		return p.Persistent
	}
	return 0
}

// RowBlocks and TokenBlocks are how many blocks of 8 × 8 a simdgroup makes of one matrix, Blocks how many
// of one or of both.
func (v *partView) RowBlocks() int   { return v.N / block }
func (v *partView) TokenBlocks() int { return v.Product.Tokens / block }
func (v *partView) Blocks() int      { return v.matrices() * v.RowBlocks() * v.TokenBlocks() }

// WeightRows is the type of a lane's rows of the matrix in a slot.
func (v *partView) WeightRows(slot int) string {
	_, cols := matrix(v.P)
	if v.parts() {
		return fmt.Sprintf("weight_step<%s, %du, %du>", v.Tag(slot), cols, v.RowBlocks())
	}
	return fmt.Sprintf("weight_rows<%s, %du, %du, %du, %du>", v.Tag(slot), cols, v.RowBlocks(), v.Product.Tokens, v.Room())
}

// MatrixAt points to the matrix of the threadgroup's entry.
func (v *partView) MatrixAt(slot int) (string, error) {
	if v.Entries == 1 {
		return v.Name(slot), nil
	}
	stride, err := v.Stride(slot)
	return fmt.Sprintf("%s + entry * %s", v.Name(slot), stride), err
}

// RowsAt points to the simdgroup's first row of the matrix in a slot.
func (v *partView) RowsAt(slot int) (string, error) {
	m, err := v.MatrixAt(slot)
	_, cols := matrix(v.P)
	return fmt.Sprintf("%s + ulong(row) * %s::row_bytes(%du)", m, v.Tag(slot), cols), err
}

// Narrow says whether the part is of a batch, whose rows are less than a tile of inputs holds.
func (v *partView) Narrow() bool { return !verify.IsPrompt(v.Product.Tokens) }

// TileInputs is the type of what says where the inputs of the threadgroup's tile are, InputsAt its base.
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

// TileRows is the type of what says which rows they are, where these are neighbours.
func (v *partView) TileRows() string {
	return fmt.Sprintf("rows_between<%t>", v.Width%v.Product.Tokens == 0)
}

func (v *partView) InputsAt() string {
	in, entry := v.input()
	if _, ok := v.P.(*plan.Experts); ok {
		entry = ""
	}
	return v.kernelView.Ptr(in, entry)
}

// UpRows is the type of the rows of the second matrix.
func (v *partView) UpRows() string {
	if up := v.Product.Up; up >= 0 {
		return v.WeightRows(up)
	}
	if v.parts() {
		return "no_step"
	}
	return "no_weights"
}

// LaneRow is the first of a lane's two rows among its simdgroup's.
func (v *partView) LaneRow() string { return fmt.Sprintf("lane %% %du * 2u", v.N/2) }

// inputsPerTurn is how many inputs the lanes of all simdgroups that share rows have results of at a time.
func (v *partView) inputsPerTurn() int { return 2 * simdWidth / v.N * v.Slices() }

// ResultTurns is how often a simdgroup's lanes go over results of eight inputs.
func (v *partView) ResultTurns() int { return max(block/v.inputsPerTurn(), 1) }

// LaneTurns is how many of n numbers each lane has.
func (v *partView) LaneTurns(n int) int { return ceil(n, simdWidth) }

// InputOf is which of eight inputs a lane's results are of in turn i. OneOfEight is a condition, after others, that
// it is the lane's own: where there are more lanes than results, some have the same.
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

func (v *partView) OneOfEight() string {
	if n := v.inputsPerTurn(); n > block {
		return fmt.Sprintf(" && slice < %du", v.Slices()*block/n)
	}
	return ""
}

// InPairs says whether the results of a lane's two rows can be stored together: an odd vocabulary's cannot.
func (v *partView) InPairs() bool {
	p := v.P.(*plan.MatVec)
	return p.Rows%2 == 0 && p.Out.Offset%2 == 0 && p.Out.Stride%2 == 0 && v.RowStride(p.Out.Slot)%2 == 0
}

// ownTiles says whether simdgroups have tiles of their own: they have steps of their own.
func (v *partView) ownTiles() bool {
	if v.parts() {
		return v.Slices() > 1 || v.Simdgroups() == 1
	}
	return v.Product.Tokens <= ownTile && v.Slices() == v.Simdgroups()
}

// FirstStep is the first step of a simdgroup, StepStride how far apart its steps are.
func (v *partView) FirstStep() string {
	if v.ownTiles() {
		return "slice"
	}
	return "0u"
}

func (v *partView) StepStride() int {
	if v.ownTiles() {
		return v.Slices()
	}
	return 1
}

// Copies says whether the devices copy to threadgroup memory without registers.
func (v *partView) Copies() bool { return v.printer.target().Memory().AsyncCopies }

// TileHalves are a simdgroup's own tiles. 0: all share one.
func (v *partView) TileHalves() int {
	if !v.ownTiles() {
		return 0
	}
	if v.parts() {
		return v.Product.Tokens * ownPartRow
	}
	return v.ownTileCount() * v.Product.Tokens * inputRow
}

// ownTileCount is how many those are: where copies fill them two at least, and of eight halves up to four, as many
// as a simdgroup has steps.
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

// TileFloats are the tiles of all simdgroups.
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

// StagedHalves is a simdgroup's memory for weights that pass through it; with two tiles they pass
// through one of them.
func (v *partView) StagedHalves() int {
	if v.ownTiles() && v.Copies() {
		return 0
	}
	return stagedRows * stagedRow
}

// RoomsAt is where the simdgroups have memory for weights on their way, Rooms its bytes for each, Room
// those for one matrix: what a threadgroup has left, of a prompt at most for a few steps.
func (v *partView) RoomsAt() int { return v.TileFloats() + v.Simdgroups()*v.StagedHalves()/2 }

func (v *partView) Rooms() int { return v.matrices() * v.Room() }

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

// laneWords is how many words of a run of weights copies carry: of a batch's floats all.
func (v *partView) laneWords() int {
	if v.Narrow() && v.Floats() {
		return floatWords
	}
	return laneWords
}

// Floats says whether a mat-vec's weights may have four bytes each, as those of a router.
func (v *partView) Floats() bool {
	p, ok := v.P.(*plan.MatVec)
	if !ok {
		return false
	}
	i := slices.Index(v.TypedSlots(), p.W)
	return slices.ContainsFunc(v.Variants, func(variant plan.Variant) bool { return variant.Types[i] == quant.F32 })
}

// BlockFloats is a simdgroup's memory for results for eight inputs, of one matrix or of two.
func (v *partView) BlockFloats() int { return v.matrices() * block * (v.N + 4) }

// resultFloats are the results of all simdgroups, roomsEnd is the end of the weights that are being copied.
func (v *partView) resultFloats() int { return v.Simdgroups() * v.BlockFloats() }
func (v *partView) roomsEnd() int     { return v.RoomsAt() + v.Simdgroups()*v.Rooms()/4 }

// ResultsAt is where results pass from simdgroup to simdgroup: where the tiles were, or after all that, where copies
// of the next tile arrive meanwhile.
func (v *partView) ResultsAt() int {
	if v.persistent() == 0 {
		return 0
	}
	return v.roomsEnd()
}

// FactorsOfTile is where the factors of the inputs' norms are: after what the tile and the results share.
func (v *partView) FactorsOfTile() int { return max(v.roomsEnd(), v.ResultsAt()+v.resultFloats()) }

// factors is how many those are, FactorOf which of them is that of an input.
func (v *partView) factors() int {
	switch {
	case v.Product.NormApply == nil:
		return 0
	case v.persistent() > 0:
		return v.Width
	}
	return v.Product.Tokens
}

func (v *partView) FactorOf() string {
	if v.persistent() > 0 {
		return fmt.Sprintf("selections[n * %du + i] / %du", v.ResultTurns(), v.P.(*plan.Experts).K)
	}
	return "8u * n + input"
}

// SelectionsOfTile is where the tile's selections are, after the factors, or what the tiles are of.
func (v *partView) SelectionsOfTile() int { return v.FactorsOfTile() + v.factors() }

// MembersOfTile is where the members of all experts are, after the entries.
func (v *partView) MembersOfTile() int {
	return v.SelectionsOfTile() + v.entries(v.P.(*plan.Experts))
}

// entries is how many numbers the entries of all experts are.
func (v *partView) entries(p *plan.Experts) int {
	return entryWords * p.Grouping.Entries(v.Width, p.Tokens)
}

// selections is how many numbers that is.
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

// productFloats is all of it. Persistent threadgroups take their whole share where others of another kernel follow: in the
// place of one that ends there is room for one of the next dispatch only if that takes no more.
func (v *partView) productFloats() int {
	n := v.SelectionsOfTile() + v.selections()
	if v.persistent() > 0 && v.Copies() {
		return max(n, v.printer.target().BatchBytes(v.Kernel.Groups())/4)
	}
	return n
}
