package plan

// Product is what all parts that multiply a weight matrix by vectors share. No part uses every field; package
// verify says which part may have which.
type Product struct {
	Rows, Cols   int
	RowsPerGroup int     // rows of the matrix per threadgroup
	SplitK       int     // simdgroups that share the columns of a row; 0 and 1: one
	Unroll       int     // blocks of a row (or of each of two rows that are read in parallel) in flight at a time; 0: DefaultUnroll
	Tokens       int     // of a kernel with a Width: how many rows of the batch a threadgroup multiplies by its weights; 0: each row of the batch has threadgroups of its own
	Up           int     // typed, like W: the gate's partner, out = silu(W·in) * (Up·in); -1: none
	Limit        float64 // with Up: out = min(silu(W·in), Limit) * max(-Limit, min(Up·in, Limit)); 0: none
	In, Out      Vec     // In has Cols elements per entry, Out has Rows
	Norm         *Norm
	NormApply    *NormApply
	NormPartial  *NormPartial
	Combine      *Combine // In is ignored: the input is the combined latent vector
	Gating       *Gating  // recomputed by every threadgroup; one of them writes Routing
}

func (p *Product) product() *Product { return p }

// ProductOf returns the Product of a part; nil: the part multiplies no weights.
func ProductOf(p Part) *Product {
	if m, ok := p.(interface{ product() *Product }); ok {
		return m.product()
	}
	return nil
}

// MatVec computes out_b = W_b · in_b for b < Batch. Each threadgroup has RowsPerGroup rows of the matrix. The
// optional pieces fuse the steps before and after.
type MatVec struct {
	Product
	W           int // typed, [Batch][Rows][Cols]
	Batch       int
	SquaredReLU bool // out = max(0, W·in)²
	Rope        *RopeAt
	HeadGate    *Vec // float32 [Batch]: the results of entry b are multiplied by σ(HeadGate[b])
	Add         int  // slot added to the result, same layout as Out; -1: none
}

// DefaultUnroll is the number of blocks in flight in mat-vecs with an Unroll of 0.
const DefaultUnroll = 4

// Groups implements Part.
func (p *MatVec) Groups() int { return p.Batch * ceil(p.Rows, p.RowsPerGroup) }

// Sizes implements Part.
func (p *MatVec) Sizes() []int {
	sizes := []int{p.Batch, p.Rows, p.Cols, p.RowsPerGroup}
	if c := p.Combine; c != nil {
		sizes = append(sizes, c.Heads, c.Splits.Count, c.Splits.Tile)
	}
	return sizes
}

// Uses implements Part.
func (p *MatVec) Uses() []Use {
	var l uses
	l.weight(p.W, p.Batch, p.Rows, p.Cols, p.Batch*p.Rows)
	l.upWeight(p.Up, p.Batch, p.Rows, p.Cols, p.Batch*p.Rows)
	if p.Combine != nil {
		l.splits(p.Combine, p.Cols, 0, false)
	} else {
		l.input(p.In, p.Batch, p.Cols, p.Norm, p.NormApply)
	}
	l.rope(p.Rope)
	l.headGate(p.HeadGate, p.Batch)
	l.addend(p.Add, p.Out, p.Batch, p.Rows)
	l.output(p.Out, p.Batch, p.Rows, p.Cols, p.NormPartial)
	return l
}

// groupsOfAll implements rowBatcher. Neighbouring threadgroups read the same weights, each for another tile
// of rows.
func (p *MatVec) groupsOfAll(k *Kernel) int { return p.Groups() * ceil(k.Width, p.Tokens) }

// Experts computes, for each selected expert e_i, out_i = W_{e_i} · in_i.
// In.Stride is 0 when all experts read the same input.
type Experts struct {
	Product     // with Grouping, Tokens is how many selections of its expert a threadgroup takes at a time
	W       int // typed, [NRoutedExperts][Rows][Cols]
	K       int
	Routing int // [K]Routing; read when Gating is nil; -1 with a Grouping
	// Grouping lists the selections of all rows of a kernel with a Width, which are computed by expert. nil: each row
	// has threadgroups of its own.
	Grouping *Grouping
	// Shares, with Tokens, is how many threadgroups have the same weights; each takes every Shares-th tile of Tokens
	// selections.
	Shares int
	// Persistent, with Tokens, is the number of threadgroups in all, which share the tiles; 0: a threadgroup for each
	// tile of weights.
	Persistent int
	// Tickets, with Persistent, is a slot of SpaceCounters, [1]. A threadgroup draws the number of its next tile from
	// the counter; the threadgroup that draws the last number resets it.
	Tickets int
}

// Groups implements Part.
func (p *Experts) Groups() int { return p.K * ceil(p.Rows, p.RowsPerGroup) }

// Sizes implements Part.
func (p *Experts) Sizes() []int { return []int{p.K, p.Rows, p.Cols, p.RowsPerGroup} }

// Uses implements Part.
func (p *Experts) Uses() []Use {
	var l uses
	l.weight(p.W, EachExpert, p.Rows, p.Cols, p.K*p.Rows)
	l.upWeight(p.Up, EachExpert, p.Rows, p.Cols, p.K*p.Rows)
	l.input(p.In, p.K, p.Cols, p.Norm, p.NormApply)
	l.write(p.Out, p.K, p.Rows, p.Cols)
	if p.Persistent > 0 {
		l.each(RoleCounters, true, 1, p.Tickets)
	}
	switch {
	case p.Grouping != nil:
		l.grouping(p.Grouping, false)
	case p.Gating != nil:
		l.gating(p.Gating, p.Routing)
	default:
		l.routing(p.Routing, p.K)
	}
	return l
}

// groupsOfAll implements rowBatcher. Each expert of the model has threadgroups of its own, which read its
// weights for all rows that have selected it. With Shares, several threadgroups have the same weights.
// Persistent threadgroups share the selected experts.
func (p *Experts) groupsOfAll(*Kernel) int {
	if p.Persistent > 0 {
		return p.Persistent
	}
	return p.Shares * p.Grouping.Experts * ceil(p.Rows, p.RowsPerGroup)
}

// Early says that the threadgroups read the selection, and start to load the selected experts' weights,
// before the previous dispatch has ended. This is safe, as that dispatch has read the same selection to
// compute the inputs.
func (p *Experts) Early() bool { return p.Persistent > 0 && p.In.Stride > 0 }

// MaxShares bounds the threadgroups that may find no work. MaxPersistent bounds the number of persistent
// threadgroups: its product with the number of all tiles has to fit a uint.
const MaxShares, MaxPersistent = 64, 1 << 11

// ExpertsSum is the down projection of the routed experts with their routing weights, plus the shared experts
// and the residual:
// out = Add + Σ_i w_i · W_{e_i} in_i + Shared · SharedIn.
type ExpertsSum struct {
	Product        // In.Stride is Cols
	W          int // typed, [NRoutedExperts][Rows][Cols]
	K          int
	Routing    int
	Shared     int // typed, [Rows][SharedCols]; -1: none
	SharedCols int
	SharedIn   Vec
	Add        int // -1: none
}

// Groups implements Part.
func (p *ExpertsSum) Groups() int { return ceil(p.Rows, p.RowsPerGroup) }

// Sizes implements Part.
func (p *ExpertsSum) Sizes() []int {
	sizes := []int{p.K, p.Rows, p.Cols, p.RowsPerGroup}
	if p.Shared >= 0 {
		sizes = append(sizes, p.SharedCols)
	}
	return sizes
}

// Uses implements Part.
func (p *ExpertsSum) Uses() []Use {
	var l uses
	terms := p.K * p.Cols
	l.weight(p.W, EachExpert, p.Rows, p.Cols, p.K*p.Rows)
	l.read(p.In, p.K, p.Cols)
	l.routing(p.Routing, p.K)
	if p.Shared >= 0 {
		terms += p.SharedCols
		l.weight(p.Shared, 1, p.Rows, p.SharedCols, p.Rows)
		l.read(p.SharedIn, 1, p.SharedCols)
	}
	l.addend(p.Add, p.Out, 1, p.Rows)
	l.output(p.Out, 1, p.Rows, terms, p.NormPartial)
	return l
}
