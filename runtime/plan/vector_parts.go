package plan

// Embed copies the token's embedding row: out[i] = Scale * W[token][i].
type Embed struct {
	W            int     // typed [VocabSize][Dim]
	Scale        float64 // 0: 1
	Out          Vec
	Dim          int
	RowsPerGroup int // elements per threadgroup
	NormPartial  *NormPartial
}

// Groups implements Part.
func (p *Embed) Groups() int { return ceil(p.Dim, p.RowsPerGroup) }

// Sizes implements Part.
func (p *Embed) Sizes() []int { return []int{p.Dim, p.RowsPerGroup} }

// Uses implements Part.
func (p *Embed) Uses() []Use {
	var l uses
	l.weight(p.W, 1, EachToken, p.Dim, 1)
	l.output(p.Out, 1, p.Dim, 1, p.NormPartial)
	return l
}

// The parts below are single steps. They are kernels of their own only when the fusion that absorbs them is
// disabled.

// NormVec is a stand-alone RMS norm of Dim elements.
type NormVec struct {
	In, Out Vec
	Dim     int
	Norm    Norm
}

// Groups implements Part.
func (p *NormVec) Groups() int { return 1 }

// Sizes implements Part.
func (p *NormVec) Sizes() []int { return []int{p.Dim} }

// Uses implements Part.
func (p *NormVec) Uses() []Use {
	var l uses
	l.read(p.In, 1, p.Dim)
	l.norm(&p.Norm, p.Dim)
	l.write(p.Out, 1, p.Dim, p.Dim)
	return l
}

// RopeVec rotates Heads heads, and copies the columns before the rotated ones.
type RopeVec struct {
	In, Out Vec // Stride = Rope.HeadDim
	Heads   int
	Rope    RopeAt
}

// Groups implements Part.
func (p *RopeVec) Groups() int { return 1 }

// Sizes implements Part.
func (p *RopeVec) Sizes() []int { return []int{p.Heads} }

// Uses implements Part.
func (p *RopeVec) Uses() []Use {
	var l uses
	l.rope(&p.Rope)
	l.read(p.In, p.Heads, p.Rope.HeadDim)
	l.write(p.Out, p.Heads, p.Rope.HeadDim, 2)
	return l
}

// CombineVec merges attention splits for all heads: out[h][c].
type CombineVec struct {
	Combine Combine
	Out     Vec
	Dim     int // KVLoraRank
}

// Groups implements Part.
func (p *CombineVec) Groups() int { return p.Combine.Heads }

// Sizes implements Part.
func (p *CombineVec) Sizes() []int {
	return []int{p.Dim, p.Combine.Heads, p.Combine.Splits.Count, p.Combine.Splits.Tile}
}

// Uses implements Part.
func (p *CombineVec) Uses() []Use {
	var l uses
	l.splits(&p.Combine, p.Dim, 0, false)
	l.write(p.Out, p.Combine.Heads, p.Dim, p.Combine.Splits.Count)
	return l
}

// SwiGLUVec is out = silu(gate) * up, with the Limit of Product.
type SwiGLUVec struct {
	Gate, Up, Out Vec
	Limit         float64
	Dim           int
	RowsPerGroup  int
}

// Groups implements Part.
func (p *SwiGLUVec) Groups() int { return ceil(p.Dim, p.RowsPerGroup) }

// Sizes implements Part.
func (p *SwiGLUVec) Sizes() []int { return []int{p.Dim, p.RowsPerGroup} }

// Uses implements Part.
func (p *SwiGLUVec) Uses() []Use {
	var l uses
	l.read(p.Gate, 1, p.Dim)
	l.read(p.Up, 1, p.Dim)
	l.write(p.Out, 1, p.Dim, 1)
	return l
}

// AddVec is out = a + b.
type AddVec struct {
	A, B, Out    Vec
	Dim          int
	RowsPerGroup int
}

// Groups implements Part.
func (p *AddVec) Groups() int { return ceil(p.Dim, p.RowsPerGroup) }

// Sizes implements Part.
func (p *AddVec) Sizes() []int { return []int{p.Dim, p.RowsPerGroup} }

// Uses implements Part.
func (p *AddVec) Uses() []Use {
	var l uses
	l.read(p.A, 1, p.Dim)
	l.read(p.B, 1, p.Dim)
	l.write(p.Out, 1, p.Dim, 2)
	return l
}

// WeightedSum is out = Σ_i w_i in_i over the selected experts, plus the vectors of Add in their order.
type WeightedSum struct {
	In, Out      Vec // In.Stride = Dim
	K, Dim       int
	Routing      int
	Add          []int // slots, laid out as Out
	RowsPerGroup int
	NormPartial  *NormPartial
}

// Groups implements Part.
func (p *WeightedSum) Groups() int { return ceil(p.Dim, p.RowsPerGroup) }

// Sizes implements Part.
func (p *WeightedSum) Sizes() []int { return []int{p.K, p.Dim, p.RowsPerGroup} }

// Uses implements Part.
func (p *WeightedSum) Uses() []Use {
	var l uses
	l.read(p.In, p.K, p.Dim)
	l.routing(p.Routing, p.K)
	for _, slot := range p.Add {
		l.read(Vec{slot, p.Out.Offset, p.Out.Stride}, 1, p.Dim)
	}
	l.output(p.Out, 1, p.Dim, p.K+len(p.Add), p.NormPartial)
	return l
}

// GatherVec moves the vectors of the rows in SpaceWanted to the front of a slot that has a vector per row:
// the i-th wanted row's vector becomes the i-th. One launch computes all rows.
type GatherVec struct {
	Vec      int // slot, written
	Dim      int
	PerGroup int // elements per threadgroup
}

// Groups implements Part.
func (p *GatherVec) Groups() int { return ceil(p.Dim, p.PerGroup) }

// Sizes implements Part.
func (p *GatherVec) Sizes() []int { return []int{p.Dim, p.PerGroup} }

// Uses implements Part.
func (p *GatherVec) Uses() []Use {
	var l uses
	l.each(RoleGathered, true, p.Dim, p.Vec)
	return l
}

func (p *GatherVec) groupsOfAll(*Kernel) int { return p.Groups() }
