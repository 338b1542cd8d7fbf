package plan

// DeltaHeads is linear attention (Kimi Delta Attention, arXiv 2510.26692) of all heads, between the layer's
// input projections and its output projection. For each row, in the order of its session:
//
//	  u = the window of the last Taps-1 projections, then the row's; the window moves on by one row
//		q, k = l2norm(silu(conv(u))); v = silu(conv(u))        l2norm(x) = x/sqrt(Σx² + Eps), of a head
//		g = exp(A softplus(f + DT)), or with a Bound exp(Bound σ(A (f + DT))); β = σ(Beta)
//		S = diag(g) S; S = S + k (β (v - Sᵀ k))ᵀ; o = Scale Sᵀ q
//		Out = rms(o) ⊙ Norm ⊙ σ(z)                             rms(x) = x/sqrt(mean(x²) + Eps), of a head
//
// softplus(x) is x above 20. All of it is in float32. A threadgroup has one head, and is the only one to
// touch the head's channels of the windows. In a batch, the threadgroups of a head (Shares) divide the
// sessions: one takes the live rows whose Table is its number modulo Shares, in order. It holds the state of
// a session until a row of another session comes, and then stores it.
type DeltaHeads struct {
	Q, K, V Vec // [Heads] × Dim: projections
	// The taps of their convolutions: float32 [Heads*Dim][Taps], the last one for the row itself.
	QConv, KConv, VConv int
	F                   Vec // [Heads] × Dim: f; with FB one vector of Dim elements
	FB                  int // typed [Heads*Dim][Dim]: f = FB · F; -1: none
	Z                   Vec // [Heads] × Dim: z; with ZB one vector of Dim elements
	ZB                  int // typed [Heads*Dim][Dim]: z = ZB · Z; -1: none
	A                   int // float32 [Heads]
	DT                  int // float32 [Heads*Dim]
	Bound               float64
	Beta                Vec // [Heads]
	Norm                int // float32 [Dim]
	Eps                 float64
	Scale               float64
	State               int // of SpaceState, see State
	Slot                int // floats from one session's state to the next one's: State.Floats
	Out                 Vec // [Heads] × Dim

	Heads, Dim, Taps int
	Shares           int // of a kernel with a Width: threadgroups of a head, among which the sessions are divided
}

// Groups implements Part.
func (p *DeltaHeads) Groups() int { return p.Heads }

// Sizes implements Part.
func (p *DeltaHeads) Sizes() []int { return []int{p.Heads, p.Dim, p.Taps, p.Slot} }

// Uses implements Part.
func (p *DeltaHeads) Uses() []Use {
	var l uses
	inner := p.Heads * p.Dim
	for _, v := range []Vec{p.Q, p.K, p.V} {
		l.read(v, p.Heads, p.Dim)
	}
	for _, slot := range []int{p.QConv, p.KConv, p.VConv} {
		l.table(slot, inner, p.Taps)
	}
	l.gate(p.F, p.FB, p.Heads, p.Dim)
	l.gate(p.Z, p.ZB, p.Heads, p.Dim)
	l.table(p.A, p.Heads, 1)
	l.table(p.DT, 1, inner)
	l.read(p.Beta, p.Heads, 1)
	l.table(p.Norm, 1, p.Dim)
	l.state(p.State, StateOf(p))
	l.write(p.Out, p.Heads, p.Dim, p.Dim)
	return l
}

func (p *DeltaHeads) groupsOfAll(*Kernel) int { return p.Heads * p.Shares }

// GateHeads is out_h = σ(Gate[h]) · in_h. It is used where no product applies the gate as its HeadGate.
type GateHeads struct {
	In, Out      Vec // [Heads] × Dim
	Gate         Vec // float32 [Heads]
	Heads, Dim   int
	RowsPerGroup int // elements per threadgroup
}

// Groups implements Part.
func (p *GateHeads) Groups() int { return ceil(p.Heads*p.Dim, p.RowsPerGroup) }

// Sizes implements Part.
func (p *GateHeads) Sizes() []int { return []int{p.Heads, p.Dim, p.RowsPerGroup} }

// Uses implements Part.
func (p *GateHeads) Uses() []Use {
	var l uses
	l.read(p.In, p.Heads, p.Dim)
	l.headGate(&p.Gate, p.Heads)
	l.write(p.Out, p.Heads, p.Dim, 1)
	return l
}

// state adds the memory of all sessions for one layer.
func (l *uses) state(slot int, s *PartState) {
	l.add(Use{Slot: slot, As: RoleState, Write: true, Entries: 1, Len: s.LayerFloats(), Terms: s.Dim})
}

// readAs adds a vector of n elements for each head, with a role of its own.
func (l *uses) readAs(role Role, v Vec, heads, n int) {
	u := vectorUse(v, heads, n)
	u.As = role
	l.add(u)
}

// table adds a matrix of parameters of linear attention.
func (l *uses) table(slot, rows, cols int) {
	l.add(Use{Slot: slot, As: RoleTable, Entries: 1, Rows: rows, Cols: cols, Len: rows * cols})
}

// gate adds the input of the heads' gates: a vector per head, or one vector and the second matrix b of a
// low-rank projection.
func (l *uses) gate(v Vec, b, heads, dim int) {
	if b < 0 {
		l.read(v, heads, dim)
		return
	}
	l.read(v, 1, dim)
	l.weight(b, 1, heads*dim, dim, heads*dim)
}

// headGate adds a number for each head.
func (l *uses) headGate(v *Vec, heads int) {
	if v != nil {
		l.add(Use{Slot: v.Slot, As: RoleGates, Offset: v.Offset, Stride: 1, Entries: heads, Len: 1})
	}
}
