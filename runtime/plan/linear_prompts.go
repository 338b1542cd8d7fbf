package plan

// For prompts, linear attention has three parts in place of DeltaHeads. The vectors of all rows do not depend
// on the state, so they are computed in parallel. The columns of a state are divided among several
// threadgroups. The norm of a head needs all of its columns, so it comes in a part of its own.

// DeltaRows computes the vectors of each row, with the windows u of DeltaHeads:
//
//	q, k = l2norm(silu(conv(u))); v = silu(conv(u))
//	keep = exp(A softplus(F + DT)), or with a Bound exp(Bound σ(A (F + DT))); β = σ(Beta)
//
// A threadgroup has one head. The rows of a session are cut into pieces of DeltaPiece rows. A threadgroup
// takes the first piece of the sessions whose table is its number modulo Shares; it alone reads and updates
// these sessions' windows. The windows of later pieces are rows of the replay, so any threadgroup may take
// those pieces.
type DeltaRows struct {
	Q, K, V             Vec // [Heads] × Dim: projections
	QConv, KConv, VConv int // float32 [Heads*Dim][Taps]
	F                   Vec // [Heads] × Dim
	A                   int // float32 [Heads]
	DT                  int // float32 [Heads*Dim]
	Bound               float64
	Beta                Vec // [Heads]
	Eps                 float64
	State               int // of SpaceState
	Slot                int // as in DeltaHeads

	Heads, Dim, Taps, Shares int
}

// DeltaPiece is how many rows of a session a threadgroup of DeltaRows takes at a time, at least the rows of a
// window. It is the length of a chunk, too.
const DeltaPiece = 16

// Sizes implements Part for the parts that embed DeltaRows.
func (p *DeltaRows) Sizes() []int { return []int{p.Heads, p.Dim, p.Taps, p.Slot, p.Shares} }

func (p *DeltaRows) groupsOfAll(*Kernel) int { return p.Heads * p.Shares }

// uses lists the slots of DeltaRows itself.
func (p *DeltaRows) uses() (l uses) {
	for _, v := range []Vec{p.Q, p.K, p.V, p.F} {
		l.read(v, p.Heads, p.Dim)
	}
	for _, slot := range []int{p.QConv, p.KConv, p.VConv} {
		l.table(slot, p.Heads*p.Dim, p.Taps)
	}
	l.table(p.A, p.Heads, 1)
	l.table(p.DT, 1, p.Heads*p.Dim)
	l.read(p.Beta, p.Heads, 1)
	l.state(p.State, p.state())
	return l
}

// state is the layout of the states whose windows the part updates.
func (p *DeltaRows) state() *PartState {
	return &PartState{State{Heads: p.Heads, Dim: p.Dim, Taps: p.Taps}, p.Slot, p.Shares}
}

// DeltaVectors is DeltaRows with the vectors that DeltaColumns reads as its results.
type DeltaVectors struct {
	DeltaRows
	OutQ, OutK, OutV, OutKeep Vec // [Heads] × Dim
	OutBeta                   Vec // [Heads]
}

// Groups implements Part.
func (p *DeltaVectors) Groups() int { return p.Heads }

// Uses implements Part.
func (p *DeltaVectors) Uses() []Use {
	l := p.uses()
	for _, v := range []Vec{p.OutQ, p.OutK, p.OutV, p.OutKeep} {
		l.write(v, p.Heads, p.Dim, p.Taps)
	}
	l.write(p.OutBeta, p.Heads, 1, 1)
	return l
}

// DeltaColumns applies the delta rule to the vectors of DeltaVectors, in the order of each session's rows:
//
//	S = diag(Keep) S; S = S + K (Beta (V - Sᵀ K))ᵀ; Out = Scale Sᵀ Q
//
// A threadgroup has Columns columns of a head's state, and the sessions whose Table is its number modulo
// Shares.
type DeltaColumns struct {
	Q, K, V, Keep Vec // [Heads] × Dim
	Beta          Vec // [Heads]
	Scale         float64
	State         int // of SpaceState
	Slot          int // as in DeltaHeads
	Out           Vec // [Heads] × Dim

	Heads, Dim, Taps, Columns, Shares int
}

// Groups implements Part.
func (p *DeltaColumns) Groups() int { return p.Heads * ceil(p.Dim, p.Columns) }

// Sizes implements Part.
func (p *DeltaColumns) Sizes() []int {
	return []int{p.Heads, p.Dim, p.Taps, p.Slot, p.Columns, p.Shares}
}

// Uses implements Part.
func (p *DeltaColumns) Uses() []Use {
	var l uses
	l.readAs(RoleUnit, p.Q, p.Heads, p.Dim)
	l.readAs(RoleUnit, p.K, p.Heads, p.Dim)
	l.read(p.V, p.Heads, p.Dim)
	l.readAs(RoleShare, p.Keep, p.Heads, p.Dim)
	l.readAs(RoleShare, p.Beta, p.Heads, 1)
	l.state(p.State, StateOf(p))
	l.write(p.Out, p.Heads, p.Dim, p.Dim)
	return l
}

func (p *DeltaColumns) groupsOfAll(*Kernel) int { return p.Groups() * p.Shares }

// GatedNormVec is Out_h = rms(In_h) ⊙ Norm ⊙ σ(Gate_h), with one simdgroup for each head.
type GatedNormVec struct {
	In, Gate, Out Vec // [Heads] × Dim
	Norm          int // float32 [Dim]
	Eps           float64

	Heads, Dim, HeadsPerGroup int
}

// Groups implements Part.
func (p *GatedNormVec) Groups() int { return ceil(p.Heads, p.HeadsPerGroup) }

// Sizes implements Part.
func (p *GatedNormVec) Sizes() []int { return []int{p.Heads, p.Dim, p.HeadsPerGroup} }

// Uses implements Part.
func (p *GatedNormVec) Uses() []Use {
	var l uses
	l.read(p.In, p.Heads, p.Dim)
	l.read(p.Gate, p.Heads, p.Dim)
	l.table(p.Norm, 1, p.Dim)
	l.write(p.Out, p.Heads, p.Dim, p.Dim)
	return l
}
