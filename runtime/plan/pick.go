package plan

// Sampling is the parameters and state of one sampler, as the kernels of Bundle.Pick read and update them (56
// bytes). runtime/text/sample defines the steps of sampling.
type Sampling struct {
	Seed uint64
	Draw uint64 // number of the next draw
	TopP uint64 // in units of 2^-32; SampleTopPOff: off

	TopK           uint32  // 0: off
	InvTemperature float32 // 0: greedy
	LogMinP        float32 // lowest logit that may be picked, minus the best one

	RepeatPenalty, InvRepeatPenalty   float32
	PresencePenalty, FrequencyPenalty float32

	Picked uint32 // number of tokens picked so far: the next one goes to turn Picked mod PickTurns
}

const (
	// SampleTopPOff is Sampling.TopP when top-p is off.
	SampleTopPOff = 1 << 32
	// SampleNone is stored in place of a token when none can be picked.
	SampleNone = 1<<32 - 1
)

// Pick says for which row a token is picked, and how (80 bytes). The adjustments of logits that the sampler's
// history asks for come with it. The kernel that picks a token updates Sampling, and writes the token with
// the next position to the row's place in SpaceRow. So the same commands run for the next token without the
// host.
type Pick struct {
	Sampling        // the kernel updates Draw and Picked
	Row      uint32 // row of SpaceLogits; PickNone: this pick is unused
	Place    uint32 // place in SpaceRow to which the token is written, one position on
	First    uint32 // first of its entries in PickLayout.Adjusts, which are sorted by token
	Entries  uint32
	Mask     uint32 // where its words begin in PickLayout.Masks, with one bit for each token that may be picked; PickNone: all may be picked
	_        uint32
}

// Adjust changes the logit of a token (12 bytes).
type Adjust struct {
	Token uint32
	Count uint32  // how often the token is among the recent ones
	Bias  float32 // added before the penalties
}

const (
	// PickNone is Pick.Row of an unused pick, and Pick.Mask of a pick without a mask.
	PickNone = 1<<32 - 1
	// PickAdjusts is how many entries a pick has at most.
	PickAdjusts = 4096
	// PickTurns is for how many steps the picked tokens are kept.
	PickTurns = 256
)

// The sizes of Pick and Adjust, in bytes.
const (
	PickBytes   = 80
	AdjustBytes = 12
)

// MaskWords is the number of uint32 with a bit for each token.
func MaskWords(vocab int) int { return ceil(vocab, 32) }

// PickLayout says where the arrays of SpacePick begin, in bytes.
type PickLayout struct {
	Rows    int   // maximum number of rows with a pick: Bundle.BatchRows
	Picks   int64 // [Rows]Pick, written by the host
	Adjusts int64 // [Rows*PickAdjusts]Adjust, written by the host
	Masks   int64 // [Rows][MaskWords]uint32, written by the host; the lowest bit is the first token
	Tokens  int64 // [PickTurns][Rows]uint32: the token picked, or SampleNone; a ring, see Sampling.Picked
	Values  int64 // [Rows][vocab]float32: logits after bias and penalties
	Tops    int64 // [Rows][groups]float32: the best value of each scanning threadgroup
	TopIDs  int64 // [Rows][groups]uint32: the first token with that value
	Kept    int64 // [Rows][vocab]float32: the values that top-k leaves, and a few below them
	KeptIDs int64 // [Rows][vocab]uint32: the tokens of Kept, in ascending order
	Bytes   int64 // size of the whole space
}

// PickLayoutOf returns the layout of SpacePick for a number of rows and a vocabulary that groups threadgroups scan.
// Arrays begin at multiples of 256 bytes.
func PickLayoutOf(rows, vocab, groups int) PickLayout {
	l := PickLayout{Rows: rows}
	l.Bytes = layOut([]array{
		{&l.Picks, rows * PickBytes}, {&l.Adjusts, rows * PickAdjusts * AdjustBytes}, {&l.Masks, 4 * rows * MaskWords(vocab)}, {&l.Tokens, 4 * PickTurns * rows},
		{&l.Values, 4 * rows * vocab}, {&l.Tops, 4 * rows * groups}, {&l.TopIDs, 4 * rows * groups},
		{&l.Kept, 4 * rows * vocab}, {&l.KeptIDs, 4 * rows * vocab},
	})
	return l
}

// array is an array of the layout: the field that gets its offset, and its size in bytes.
type array struct {
	at    *int64
	bytes int
}

// layOut sets the offsets of consecutive arrays, and returns their total size in bytes.
func layOut(arrays []array) (bytes int64) {
	for _, a := range arrays {
		*a.at = bytes
		bytes += (int64(a.bytes) + 255) &^ 255
	}
	return bytes
}

// ScanPicks copies the logits of every pick to Values: NaN and infinities are replaced as in
// runtime/text/sample, bias and penalties are applied, and a token that the mask forbids gets minus infinity.
// The best value of each block goes to Tops and TopIDs. Fields are slots of the arrays of PickLayout.
type ScanPicks struct {
	Logits, Picks, Adjusts, Masks int
	Values, Tops, TopIDs          int
	Vocab, Block, Blocks          int // Block: values that are reduced to the best one; Blocks: blocks per threadgroup
	MaxBatch                      int // Bundle.MaxBatch
}

// Scanned is how many blocks the logits of one pick are cut into.
func (p *ScanPicks) Scanned() int { return ceil(p.Vocab, p.Block) }

// GroupsOfPick is how many threadgroups scan the logits of one pick.
func (p *ScanPicks) GroupsOfPick() int { return ceil(p.Scanned(), p.Blocks) }

// Rows returns the maximum number of rows with a pick.
func (p *ScanPicks) Rows() int { return batchRows(p.MaxBatch) }

// Groups implements Part.
func (p *ScanPicks) Groups() int { return p.Rows() * p.GroupsOfPick() }

// Sizes implements Part.
func (p *ScanPicks) Sizes() []int { return []int{p.Vocab, p.Block, p.Blocks} }

// Uses implements Part.
func (p *ScanPicks) Uses() []Use {
	var l uses
	l.each(RoleFloats, false, p.Vocab, p.Logits) // the pick names the row
	l.each(RolePicks, false, p.Rows(), p.Picks)
	l.each(RoleAdjusts, false, p.Rows()*PickAdjusts, p.Adjusts)
	l.each(RoleIntegers, false, p.Rows()*MaskWords(p.Vocab), p.Masks)
	l.each(RoleFloats, true, p.Rows()*p.Vocab, p.Values)
	l.each(RoleFloats, true, p.Rows()*p.Scanned(), p.Tops)
	l.each(RoleIntegers, true, p.Rows()*p.Scanned(), p.TopIDs)
	return l
}

// PickTokens picks a token from the Values of every pick, updates the pick, and writes the token with the
// next position to the pick's place in SpaceRow.
type PickTokens struct {
	Picks, Tokens        int
	Values, Tops, TopIDs int
	Kept, KeptIDs        int
	Row                  int // written
	Vocab, Scanned       int // Scanned: blocks of one pick, see ScanPicks
	MaxBatch             int // Bundle.MaxBatch
}

// Rows returns the maximum number of rows with a pick.
func (p *PickTokens) Rows() int { return batchRows(p.MaxBatch) }

// Groups implements Part.
func (p *PickTokens) Groups() int { return p.Rows() }

// Sizes implements Part.
func (p *PickTokens) Sizes() []int { return []int{p.Vocab, p.Scanned} }

// Uses implements Part.
func (p *PickTokens) Uses() []Use {
	var l uses
	l.each(RolePicks, true, p.Rows(), p.Picks)
	l.each(RoleIntegers, true, PickTurns*p.Rows(), p.Tokens)
	l.each(RoleFloats, false, p.Rows()*p.Vocab, p.Values)
	l.each(RoleFloats, false, p.Rows()*p.Scanned, p.Tops)
	l.each(RoleIntegers, false, p.Rows()*p.Scanned, p.TopIDs)
	l.each(RoleFloats, true, p.Rows()*p.Vocab, p.Kept)
	l.each(RoleIntegers, true, p.Rows()*p.Vocab, p.KeptIDs)
	l.each(RoleRow, true, 0, p.Row)
	return l
}
