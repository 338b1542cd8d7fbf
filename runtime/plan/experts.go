package plan

// Gating turns router logits into selected experts (models: DeepSeek-V2 softmax,
// GLM-4 sigmoid with selection bias). Ties go to the lower expert.
type Gating struct {
	Logits          int // [Experts] float32
	Bias            int // [Experts] float32 added for selection only; -1: none
	Experts, K      int
	Sigmoid         bool
	Normalize       bool
	Scale           float64 // 1: none
	Groups, KGroups int     // 1, 1: none
}

// ByLogits says that experts are selected by their logits: softmax keeps the order of
// them, and with neither bias nor groups only that order counts.
func (g *Gating) ByLogits() bool { return !g.Sigmoid && g.Bias < 0 && g.Groups <= 1 }

// Experts computes, for each selected expert e_i, out_i = W_{e_i} · in_i.
// In.Stride is 0 when all experts read the same input.
type Experts struct {
	W, Up        int // typed [NRoutedExperts][Rows][Cols]; Up -1: none, else SwiGLU as in MatVec
	K            int
	Rows, Cols   int
	RowsPerGroup int
	SplitK       int // as in MatVec
	Unroll       int // as in MatVec
	In, Out      Vec
	Norm         *Norm
	NormApply    *NormApply
	Gating       *Gating   // recomputed by every threadgroup; one of them writes Routing
	Routing      int       // [K]Routing; read when Gating is nil; -1 with a Grouping
	Grouping     *Grouping // takes what it lists of all rows of a kernel with a Width; nil: each row has threadgroups of its own
	Tokens       int       // with Grouping, as in MatVec: selections of its expert that a threadgroup takes at a time
	Shares       int       // with Tokens: threadgroups for the same weights, each of which takes every Shares-th Tokens
	Persistent   int       // with Tokens: threadgroups in all, which share the tiles that there are; 0: one for each tile of weights
	Tickets      int       // with Persistent: slot of SpaceCounters, [1]: who draws a number from it takes that tile next, and who draws the last one sets it back
}

// Groups implements Part.
func (p *Experts) Groups() int { return p.K * ceil(p.Rows, p.RowsPerGroup) }

// groupsOfAll: each expert of the model has threadgroups of its own, which read its weights
// for all rows that have selected it. With Shares several have the same weights. Persistent ones share what
// experts were selected.
func (p *Experts) groupsOfAll(*Kernel) int {
	if p.Persistent > 0 {
		return p.Persistent
	}
	return p.Shares * p.Grouping.Experts * ceil(p.Rows, p.RowsPerGroup)
}

// Early says that threadgroups read what was selected before the dispatch before has ended, and send for weights by
// it: that dispatch has made their inputs by the same selections, so these are older.
func (p *Experts) Early() bool { return p.Persistent > 0 && p.In.Stride > 0 }

// MaxShares bounds the threadgroups that find nothing to do, MaxPersistent the persistent ones: their number
// times that of all tiles is a uint.
const MaxShares, MaxPersistent = 64, 1 << 11

// Grouping lists what all rows have selected by expert. Selection s is the (s mod K)-th
// expert of row s/K. Members holds the selections, those of one expert side by side in their
// order, and experts in ascending order: those of expert e are Members[Starts[e]] up to
// Members[Starts[e+1]], which may be none. Dead rows select nothing: behind the selections of
// the others, Members is undefined.
type Grouping struct {
	Starts  int // [Experts+1]uint32
	Members int // [Width*K]uint32
	Experts int // of the model
	K       int // experts per row
}

// Entries bounds how many tiles of so many selections the rows make of all experts: one of each that is selected,
// and another one for every full tile.
func (g *Grouping) Entries(width, tokens int) int {
	all := width * g.K
	return min(g.Experts, all) + all/max(tokens, 1)
}

// ExpertsSum is the down projection of the routed experts with their routing
// weights, the shared experts and the residual:
// out = Add + Σ_i w_i · W_{e_i} in_i + Shared · SharedIn.
type ExpertsSum struct {
	W            int // typed [NRoutedExperts][Rows][Cols]
	K            int
	Rows, Cols   int
	RowsPerGroup int
	SplitK       int // as in MatVec
	Unroll       int // as in MatVec
	In           Vec // Stride = Cols
	Routing      int
	Shared       int // typed [Rows][SharedCols]; -1: none
	SharedCols   int
	SharedIn     Vec
	Add          int // -1: none
	Out          Vec
	NormPartial  *NormPartial
}

// Groups implements Part.
func (p *ExpertsSum) Groups() int { return ceil(p.Rows, p.RowsPerGroup) }
