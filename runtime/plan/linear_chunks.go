package plan

// The delta rule by chunks of rows: the UT transform of arXiv 2406.06484, with a decay for each key channel
// as in arXiv 2510.26692. The terms among the rows of a chunk do not depend on the state, so DeltaChunks
// computes them for all chunks in parallel. DeltaFold then moves the state on by a whole chunk at a time.

// DeltaChunks computes the terms of each chunk that DeltaFold needs, from the vectors of DeltaRows. A chunk
// is up to DeltaPiece consecutive rows of a session in a replay, counted from the session's first row there.
// D(r,t) is the product of keep over the chunk's rows r+1 … t, for r ≤ t:
//
//		A(t,r) = β_t Σ_i k_t[i] k_r[i] D(r,t)[i]; M(t,r) = Scale Σ_i q_t[i] k_r[i] D(r,t)[i]
//		Kept_t = the product of keep up to t
//		Known_t = β_t k_t ⊙ Kept_t - Σ_{r<t} A(t,r) Known_r; Value_t = β_t v_t - Σ_{r<t} A(t,r) Value_r
//		Seen_t = Scale q_t ⊙ Kept_t - Σ_{r≤t} M(t,r) Known_r; Own_t = Σ_{r≤t} M(t,r) Value_r
//	  Key_t = k_t ⊙ D(t, the last row of the chunk)
//
// All factors D are at most 1, and nothing is divided by a decay: so nothing overflows.
type DeltaChunks struct {
	DeltaRows
	Scale float64
	DeltaChunk
}

// DeltaChunk is the six vectors of each row that DeltaFold reads; see DeltaChunks.
type DeltaChunk struct {
	Seen, Known, Own, Value, Key, Kept Vec // [Heads] × Dim
}

// Vecs lists the vectors in the order of their names in DeltaChunk.
func (c *DeltaChunk) Vecs() []*Vec {
	return []*Vec{&c.Seen, &c.Known, &c.Own, &c.Value, &c.Key, &c.Kept}
}

// Groups implements Part.
func (p *DeltaChunks) Groups() int { return p.Heads }

// Uses implements Part.
func (p *DeltaChunks) Uses() []Use {
	l := p.uses()
	for _, v := range p.Vecs() {
		l.write(*v, p.Heads, p.Dim, p.Dim)
	}
	return l
}

// DeltaFold moves states on by chunks. For each row t of a chunk, with the state S before the chunk:
//
//	u_t = Value_t - Sᵀ Known_t; Out_t = Own_t + Sᵀ Seen_t
//
// Then S = diag(Kept of the last row) S + Σ_t Key_t u_tᵀ. A threadgroup has Columns columns of a head's
// state, and the sessions whose Table is its number modulo Shares.
type DeltaFold struct {
	DeltaChunk
	State int // of SpaceState
	Slot  int // as in DeltaHeads
	Out   Vec // [Heads] × Dim

	Heads, Dim, Taps, Columns, Shares int
	Lanes                             int // lanes that share a column
}

// Groups implements Part.
func (p *DeltaFold) Groups() int { return p.Heads * ceil(p.Dim, p.Columns) }

// Sizes implements Part.
func (p *DeltaFold) Sizes() []int {
	return []int{p.Heads, p.Dim, p.Taps, p.Slot, p.Columns, p.Shares, p.Lanes}
}

// Uses implements Part.
func (p *DeltaFold) Uses() []Use {
	var l uses
	for _, v := range []Vec{p.Seen, p.Known, p.Key} {
		l.readAs(RoleUnit, v, p.Heads, p.Dim)
	}
	l.read(p.Own, p.Heads, p.Dim)
	l.read(p.Value, p.Heads, p.Dim)
	l.readAs(RoleShare, p.Kept, p.Heads, p.Dim)
	l.state(p.State, StateOf(p))
	l.write(p.Out, p.Heads, p.Dim, p.Dim)
	return l
}

func (p *DeltaFold) groupsOfAll(*Kernel) int { return p.Groups() * p.Shares }
