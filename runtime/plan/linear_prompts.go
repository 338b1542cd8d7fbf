package plan

// Linear attention of prompts is three parts, where DeltaHeads is one. What does not depend on the state is made for all
// rows side by side, the columns of a state move on in several threadgroups, and the norm of a head wants all columns.

// DeltaRows makes vectors of each row: with the windows of DeltaHeads
//
//	q, k = l2norm(silu(conv(u))); v = silu(conv(u))
//	keep = exp(A softplus(F + DT)), or with a Bound exp(Bound σ(A (F + DT))); β = σ(Beta)
//
// A threadgroup has one head. The first piece of a run of rows of one session belongs to the threadgroup whose number is
// the session's table modulo Shares. That threadgroup alone reads the session's windows, and moves them on. Any
// threadgroup may have the later pieces: their windows are rows of the run.
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

// DeltaPiece is how many rows of a session a threadgroup of DeltaRows takes at a time: no fewer than a window has. It is
// the length of a chunk, too.
const DeltaPiece = 16

// Sizes are those of a Part.
func (p *DeltaRows) Sizes() []int { return []int{p.Heads, p.Dim, p.Taps, p.Slot, p.Shares} }

func (p *DeltaRows) groupsOfAll(*Kernel) int { return p.Heads * p.Shares }

// uses are those of the rows.
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

// state is how the states lie that it moves on.
func (p *DeltaRows) state() *PartState {
	return &PartState{State{Heads: p.Heads, Dim: p.Dim, Taps: p.Taps}, p.Slot, p.Shares}
}

// DeltaVectors hands these vectors on: what the delta rule takes of each row.
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

// DeltaColumns is the delta rule of what DeltaVectors makes, of each session's rows in their order:
//
//	S = diag(Keep) S; S = S + K (Beta (V - Sᵀ K))ᵀ; Out = Scale Sᵀ Q
//
// A threadgroup has Columns of a head, and the sessions whose Table is its number modulo Shares.
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

// GatedNormVec is Out_h = rms(In_h) ⊙ Norm ⊙ σ(Gate_h), a simdgroup for each head.
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
