package plan

// Sampling is a sampler's parameters and state, as the kernels of Bundle.Sample
// read and advance them (64 bytes). runtime/text/sample says what the steps are.
type Sampling struct {
	Seed uint64
	Draw uint64 // number of the next draw
	TopP uint64 // in units of 2^-32; SampleTopPOff: off

	TopK           uint32  // 0: off
	InvTemperature float32 // 0: greedy
	LogMinP        float32 // the lowest that a logit may be, less the best one

	RepeatPenalty, InvRepeatPenalty   float32
	PresencePenalty, FrequencyPenalty float32

	Window   uint32 // how many accepted tokens are recent; 0: none, SampleWindowAll: all
	Accepted uint32 // tokens ever written to the ring of recent ones: the next goes to Accepted mod Window
	Picked   uint32 // tokens picked: the next goes to place Picked mod SamplePicks, of a Pick to turn Picked mod PickTurns
}

const (
	// SampleTopPOff is Sampling.TopP when top-p is off.
	SampleTopPOff = 1 << 32
	// SampleWindowAll is Sampling.Window when every accepted token is recent.
	SampleWindowAll = 1<<32 - 1
	// SampleWindow is the longest Sampling.Window but for SampleWindowAll.
	SampleWindow = 4096
	// SamplePicks is how many picked tokens are kept.
	SamplePicks = 256
	// SampleNone is what is kept when no token can be picked.
	SampleNone = 1<<32 - 1
)

// SampleLayout says where the arrays of SpaceSample begin, in bytes.
type SampleLayout struct {
	State   int64 // Sampling
	Picks   int64 // [SamplePicks]uint32: picked tokens
	Recent  int64 // [SampleWindow]uint32: the last Window accepted tokens, a ring
	Bias    int64 // [vocab]float32, added to the logits
	Counts  int64 // [vocab]uint32: how often a token is among the recent ones
	Values  int64 // [vocab]float32: logits after bias and penalties
	Tops    int64 // [groups]float32: the best value of each threadgroup that scans
	TopIDs  int64 // [groups]uint32: the first token that has it
	Kept    int64 // [vocab]float32: the values that top-k leaves, and some more
	KeptIDs int64 // [vocab]uint32: their tokens, in ascending order
	Bytes   int64 // of all
}

// SampleLayoutOf lays out SpaceSample for a vocabulary that groups threadgroups
// scan. Arrays begin at multiples of 256 bytes.
func SampleLayoutOf(vocab, groups int) SampleLayout {
	var l SampleLayout
	l.Bytes = layOut([]array{
		{&l.State, 64}, {&l.Picks, 4 * SamplePicks}, {&l.Recent, 4 * SampleWindow},
		{&l.Bias, 4 * vocab}, {&l.Counts, 4 * vocab}, {&l.Values, 4 * vocab},
		{&l.Tops, 4 * groups}, {&l.TopIDs, 4 * groups}, {&l.Kept, 4 * vocab}, {&l.KeptIDs, 4 * vocab},
	})
	return l
}

// ScanLogits copies the logits without NaN and infinities to Values, with bias and
// penalties, and writes the best of each threadgroup to Tops and TopIDs. Fields are
// slots of the arrays of SampleLayout.
type ScanLogits struct {
	Logits, State, Bias, Counts int
	Values, Tops, TopIDs        int
	Vocab, PerGroup             int // PerGroup: values per threadgroup
}

// Groups implements Part.
func (p *ScanLogits) Groups() int { return ceil(p.Vocab, p.PerGroup) }

// Sizes implements Part.
func (p *ScanLogits) Sizes() []int { return []int{p.Vocab, p.PerGroup} }

// Uses implements Part.
func (p *ScanLogits) Uses() []Use {
	var l uses
	l.each(RoleFloats, false, p.Vocab, p.Logits, p.Bias)
	l.each(RoleState, false, 1, p.State)
	l.each(RoleIntegers, false, p.Vocab, p.Counts)
	l.each(RoleFloats, true, p.Vocab, p.Values)
	l.each(RoleFloats, true, p.Groups(), p.Tops)
	l.each(RoleIntegers, true, p.Groups(), p.TopIDs)
	return l
}

// PickToken picks a token from Values, appends it to Picks, accepts it for the
// penalties and makes Row that of the token: one position on.
type PickToken struct {
	State, Picks, Recent, Counts int
	Values, Tops, TopIDs         int
	Kept, KeptIDs                int
	Row                          int // written
	Vocab, Scanned               int // Scanned: threadgroups of ScanLogits
}

// Groups implements Part.
func (p *PickToken) Groups() int { return 1 }

// Sizes implements Part.
func (p *PickToken) Sizes() []int { return []int{p.Vocab, p.Scanned} }

// Uses implements Part.
func (p *PickToken) Uses() []Use {
	var l uses
	l.each(RoleState, true, 1, p.State)
	l.each(RoleIntegers, true, SamplePicks, p.Picks)
	l.each(RoleIntegers, true, SampleWindow, p.Recent)
	l.each(RoleIntegers, true, p.Vocab, p.Counts, p.KeptIDs)
	l.each(RoleFloats, false, p.Vocab, p.Values)
	l.each(RoleFloats, false, p.Scanned, p.Tops)
	l.each(RoleIntegers, false, p.Scanned, p.TopIDs)
	l.each(RoleFloats, true, p.Vocab, p.Kept)
	l.each(RoleRow, true, 0, p.Row)
	return l
}
