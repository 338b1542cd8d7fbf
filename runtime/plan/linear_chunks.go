package plan

// The delta rule by chunks of rows (the UT transform of arXiv 2406.06484, with a decay for each key as in arXiv
// 2510.26692). What the rows of a chunk are to each other does not depend on the state: it is made for all chunks side
// by side. Then a state moves on by a whole chunk at a time.

// DeltaChunks makes of the vectors of DeltaRows what the delta rule takes of chunks. A chunk is up to DeltaPiece rows of a
// session that follow each other in a replay, from the session's first one on. With D(r,t) the product of keep of the
// rows after r up to t, of the chunk's rows r ≤ t:
//
//	A(t,r) = β_t Σ_i k_t[i] k_r[i] D(r,t)[i]; M(t,r) = Scale Σ_i q_t[i] k_r[i] D(r,t)[i]
//	Kept_t = the product of keep up to t
//	Known_t = β_t k_t ⊙ Kept_t - Σ_{r<t} A(t,r) Known_r; Value_t = β_t v_t - Σ_{r<t} A(t,r) Value_r
//	Seen_t = Scale q_t ⊙ Kept_t - Σ_{r≤t} M(t,r) Known_r; Own_t = Σ_{r≤t} M(t,r) Value_r
//	Key_t = k_t ⊙ D(t, the last row)
//
// All factors are at most 1, whatever the decay is: nothing is divided by it.
type DeltaChunks struct {
	DeltaRows
	Scale float64
	DeltaChunk
}

// DeltaChunk is what DeltaFold takes of a row.
type DeltaChunk struct {
	Seen, Known, Own, Value, Key, Kept Vec // [Heads] × Dim
}

// Vecs lists them in the order of their names there.
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

// DeltaFold moves states on by chunks: of each row of a chunk, with the state S before the chunk,
//
//	u_t = Value_t - Sᵀ Known_t; Out_t = Own_t + Sᵀ Seen_t
//
// and then S = diag(Kept of the last row) S + Σ_t Key_t u_tᵀ. A threadgroup has Columns of a head, and the sessions whose
// Table is its number modulo Shares.
type DeltaFold struct {
	DeltaChunk
	State int // of SpaceState
	Slot  int // as in DeltaHeads
	Out   Vec // [Heads] × Dim

	Heads, Dim, Taps, Columns, Shares int
	Lanes                             int // that share a column
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
