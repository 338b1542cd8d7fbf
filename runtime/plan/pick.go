package plan

// Sampling is a sampler's parameters and state, as the kernels of Bundle.Pick read and
// advance them (56 bytes). runtime/text/sample says what the steps are.
type Sampling struct {
	Seed uint64
	Draw uint64 // number of the next draw
	TopP uint64 // in units of 2^-32; SampleTopPOff: off

	TopK           uint32  // 0: off
	InvTemperature float32 // 0: greedy
	LogMinP        float32 // the lowest that a logit may be, less the best one

	RepeatPenalty, InvRepeatPenalty   float32
	PresencePenalty, FrequencyPenalty float32

	Picked uint32 // tokens picked: the next goes to turn Picked mod PickTurns
}

const (
	// SampleTopPOff is Sampling.TopP when top-p is off.
	SampleTopPOff = 1 << 32
	// SampleNone is what is kept when no token can be picked.
	SampleNone = 1<<32 - 1
)

// Pick says after which row a token is picked, and how (80 bytes). What the sampler has
// accepted comes with it, as adjustments of logits. So sessions come and go, and rows of
// guesses are picked after. The kernel that picks moves the pick on, and makes the row that
// of the token: so the same rows can be run again without the host.
type Pick struct {
	Sampling        // Draw and Picked are moved on
	Row      uint32 // of SpaceLogits; PickNone: there is no such pick
	Place    uint32 // of the row in SpaceRow that becomes that of the token, one position on
	First    uint32 // of its entries in PickLayout.Adjusts, which are in the order of their tokens
	Entries  uint32
	Mask     uint32 // where its words begin in PickLayout.Masks, which has a bit for each token that may be picked; PickNone: all may
	_        uint32
}

// Adjust changes the logit of a token (12 bytes).
type Adjust struct {
	Token uint32
	Count uint32  // how often the token is among the recent ones
	Bias  float32 // added before the penalties
}

const (
	// PickNone is Pick.Row of a pick that there is not, and Pick.Mask of one without a mask.
	PickNone = 1<<32 - 1
	// PickAdjusts is how many entries a pick has at most.
	PickAdjusts = 4096
	// PickTurns is for how many steps picked tokens are kept.
	PickTurns = 256
)

// The sizes of Pick and Adjust, in bytes.
const (
	PickBytes   = 80
	AdjustBytes = 12
)

// MaskWords is how many words have a bit for each token.
func MaskWords(vocab int) int { return ceil(vocab, 32) }

// PickLayout says where the arrays of SpacePick begin, in bytes.
type PickLayout struct {
	Rows    int   // the most rows after which tokens are picked: Bundle.BatchRows
	Picks   int64 // [Rows]Pick, from the host
	Adjusts int64 // [Rows*PickAdjusts]Adjust, from the host
	Masks   int64 // [Rows][MaskWords]uint32, from the host, the lowest bit for the first token
	Tokens  int64 // [PickTurns][Rows]uint32: what is picked, or SampleNone; a ring, see Sampling.Picked
	Values  int64 // [Rows][vocab]float32: logits after bias and penalties
	Tops    int64 // [Rows][groups]float32: the best value of each threadgroup that scans
	TopIDs  int64 // [Rows][groups]uint32: the first token that has it
	Kept    int64 // [Rows][vocab]float32: the values that top-k leaves, and some more
	KeptIDs int64 // [Rows][vocab]uint32: their tokens, in ascending order
	Bytes   int64 // of all
}

// PickLayoutOf lays out SpacePick for a number of rows and a vocabulary that groups threadgroups scan. Arrays
// begin at multiples of 256 bytes.
func PickLayoutOf(rows, vocab, groups int) PickLayout {
	l := PickLayout{Rows: rows}
	l.Bytes = layOut([]array{
		{&l.Picks, rows * PickBytes}, {&l.Adjusts, rows * PickAdjusts * AdjustBytes}, {&l.Masks, 4 * rows * MaskWords(vocab)}, {&l.Tokens, 4 * PickTurns * rows},
		{&l.Values, 4 * rows * vocab}, {&l.Tops, 4 * rows * groups}, {&l.TopIDs, 4 * rows * groups},
		{&l.Kept, 4 * rows * vocab}, {&l.KeptIDs, 4 * rows * vocab},
	})
	return l
}

// array is where an array begins, and how many bytes it has.
type array struct {
	at    *int64
	bytes int
}

// layOut puts arrays one after the other, and returns how long they are.
func layOut(arrays []array) (bytes int64) {
	for _, a := range arrays {
		*a.at = bytes
		bytes += (int64(a.bytes) + 255) &^ 255
	}
	return bytes
}

// ScanPicks copies the logits of every pick to Values: without NaN and infinities, with bias
// and penalties, and minus infinity where the mask forbids the token. The best of each block
// goes to Tops and TopIDs. Fields are slots of the arrays of PickLayout.
type ScanPicks struct {
	Logits, Picks, Adjusts, Masks int
	Values, Tops, TopIDs          int
	Vocab, Block, Blocks          int // Block: values of which the best is kept; Blocks: per threadgroup
	MaxBatch                      int // Bundle.MaxBatch
}

// Scanned is how many blocks the logits of one pick have.
func (p *ScanPicks) Scanned() int { return ceil(p.Vocab, p.Block) }

// GroupsOfPick is how many threadgroups scan them.
func (p *ScanPicks) GroupsOfPick() int { return ceil(p.Scanned(), p.Blocks) }

// Rows is the most rows after which tokens are picked.
func (p *ScanPicks) Rows() int { return batchRows(p.MaxBatch) }

// Groups implements Part.
func (p *ScanPicks) Groups() int { return p.Rows() * p.GroupsOfPick() }

// Sizes implements Part.
func (p *ScanPicks) Sizes() []int { return []int{p.Vocab, p.Block, p.Blocks} }

// Uses implements Part.
func (p *ScanPicks) Uses() []Use {
	var l uses
	l.each(RoleFloats, false, p.Vocab, p.Logits) // of a row that the host names
	l.each(RolePicks, false, p.Rows(), p.Picks)
	l.each(RoleAdjusts, false, p.Rows()*PickAdjusts, p.Adjusts)
	l.each(RoleIntegers, false, p.Rows()*MaskWords(p.Vocab), p.Masks)
	l.each(RoleFloats, true, p.Rows()*p.Vocab, p.Values)
	l.each(RoleFloats, true, p.Rows()*p.Scanned(), p.Tops)
	l.each(RoleIntegers, true, p.Rows()*p.Scanned(), p.TopIDs)
	return l
}

// PickTokens picks a token from the Values of every pick, moves the pick on and makes its
// row that of the token: one position on.
type PickTokens struct {
	Picks, Tokens        int
	Values, Tops, TopIDs int
	Kept, KeptIDs        int
	Row                  int // written
	Vocab, Scanned       int // Scanned: blocks of ScanPicks for one pick
	MaxBatch             int // Bundle.MaxBatch
}

// Rows is the most rows after which tokens are picked.
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
