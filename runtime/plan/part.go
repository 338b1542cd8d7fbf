package plan

// Part is one composition prologue × body × epilogue. Fields of type int
// named after a tensor are slot indices; pointers are optional pieces. What a
// part needs of its row (token, position, block table) is in the kernel's one slot of
// SpaceRow, or of SpaceWanted, and the batch strides in its one slot of SpaceArgs.
type Part interface {
	// Groups is the number of threadgroups that the part runs on.
	Groups() int
}

// Vec is a vector, or one per batch entry, inside a slot's buffer: entry b
// starts at element Offset + b*Stride.
type Vec struct {
	Slot           int
	Offset, Stride int
}

// Norm is the RMS-norm prologue: in[i]*rsqrt(mean(in²)+Eps)*Weight[i].
type Norm struct {
	Weight int // [Cols] float32
	Eps    float64
}

// NormPartial is the epilogue that prepares the next norm, beside the plain result
// or (Out.Slot -1) instead of it: Ready[i] = out[i]*Weight[i], and one sum of
// squares per Group results. It is the half of a norm that its consumers would
// otherwise do over in every threadgroup; NormApply is the other half.
type NormPartial struct {
	Weight  int // [Rows] float32
	Ready   int // [Rows], of the activations' type
	Squares int // [Rows/Group] float32
	Group   int // a power of two of up to 32 that divides Rows and RowsPerGroup
}

// NormApply is the prologue that finishes a norm of which NormPartial is the first half:
// in[i]*rsqrt(ΣSquares/Cols+Eps). As the factor is one number, kernels multiply
// their results by it.
type NormApply struct {
	Squares int // [Count] float32
	Count   int
	Eps     float64
}

// RopeAt rotates the last Dim elements of each HeadDim-wide head by the pairs
// (2i, 2i+1), with the cosines and sines of the current position.
type RopeAt struct {
	Table        int // slot of SpaceRope
	HeadDim, Dim int
}

// Splits says how attention is cut along the KV axis: split s covers rows
// [s*per, (s+1)*per) ∩ [0, NKV), with per = Per(NKV), a multiple of Tile. Splits that
// start at or past NKV hold nothing; there are at most Count of the others.
type Splits struct {
	Count, Tile int
	// Least is how many cache rows a split has at least, a multiple of Tile; 0: Tile. Where
	// several rows attend side by side their splits fill a GPU sooner than one row's, and
	// each split loads its queries and leaves sums to be combined.
	Least int
}

// Per is the number of cache rows per split for n valid rows. A split costs its
// combine about as much as two or three rows cost attention, so there are at most some
// four times as many splits as rows in each: Tile, or Least, is doubled until four times its
// square reach n.
func (s Splits) Per(n int) int {
	least := max(s.Tile, s.Least)
	for 4*least*least < n {
		least *= 2
	}
	return max(least, ceil(n, s.Count*s.Tile)*s.Tile)
}

// Used is how many splits hold some of n valid rows: the first ones.
func (s Splits) Used(n int) int { return ceil(n, s.Per(n)) }

// Combine is the prologue that merges attention splits of head b (the exact
// flash-decode combine): m = max_s m_s, o = Σ e^(m_s-m) l_s o_s / Σ e^(m_s-m) l_s.
type Combine struct {
	Out    int // [Splits.Count][heads][KVLoraRank]: attention to the split alone; undefined where it holds nothing
	ML     int // [Splits.Count][heads][2] float32: m, the largest score or one near it, and l = Σ e^(score-m); -1e30 and 0 where a split holds nothing
	Splits Splits
	Heads  int
}

// MatVec computes out_b = W_b · in_b for b < Batch, rows split over
// threadgroups of RowsPerGroup rows; optional pieces fuse what is around it.
type MatVec struct {
	W                 int // typed, [Batch][Rows][Cols]
	Batch, Rows, Cols int
	RowsPerGroup      int
	SplitK            int // simdgroups that share the columns of a row; 0 and 1: one
	Unroll            int // blocks of a row, or of two rows that are read together, under way at a time; 0: DefaultUnroll
	In, Out           Vec // In has Cols elements per entry, Out has Rows
	Norm              *Norm
	NormApply         *NormApply
	Combine           *Combine // In is ignored: the input is the combined latent
	Up                int      // typed, like W: out = silu(W·in) * (Up·in); -1: none
	SquaredReLU       bool     // out = max(0, W·in)²
	Rope              *RopeAt
	Add               int // slot added to the result, same layout as Out; -1: none
	NormPartial       *NormPartial
	Tokens            int // of a kernel with a Width: rows that a threadgroup multiplies by its weights; 0: each row has threadgroups of its own
}

// DefaultUnroll is how many blocks mat-vecs have under way unless they say otherwise.
const DefaultUnroll = 4

// Groups implements Part.
func (p *MatVec) Groups() int { return p.Batch * ceil(p.Rows, p.RowsPerGroup) }

// groupsOfAll: neighbouring threadgroups read the same weights for one tile of rows each.
func (p *MatVec) groupsOfAll(k *Kernel) int { return p.Groups() * ceil(k.Width, p.Tokens) }

// Paged is a layer's latent cache in pages. The cache row of position p of a session
// is row p%PageRows of page Tables[row.Table][p/PageRows].
type Paged struct {
	Slot     int // typed, one of CacheTypes, of SpaceKV; or of SpaceHeads
	Tables   int // of SpaceTables
	MaxPages int // entries of a table
}

// StoreKV writes one latent cache row [lat | k_pe] at the current position.
type StoreKV struct {
	Lat, KPe      Vec
	LatDim, PeDim int
	Cache         Paged
	Norm          *Norm   // applied to Lat
	Rope          *RopeAt // applied to KPe (one head)
}

// Groups implements Part.
func (p *StoreKV) Groups() int { return 1 }

// Attend is split-KV latent attention: every threadgroup serves all heads for
// one split, so a cache row is read once for keys and values of every head.
type Attend struct {
	QAbs   Vec // [Heads] × LatDim
	QPe    Vec // [Heads] × PeDim
	Heads  int
	LatDim int
	PeDim  int
	Scale  float64
	// Temperature multiplies Scale by what the position of the query says.
	Temperature Temperature
	Cache       Paged
	Out, ML     int // see Combine
	Splits      Splits
}

// Groups implements Part.
func (p *Attend) Groups() int { return p.Splits.Count }

// AttendRows is latent attention of many rows at once, as a prompt has them: a threadgroup
// serves so many queries, one of each head of a row and the rows' side by side, and reads the
// cache once for all of them. It divides at the end: nothing is left to combine. Rows that
// follow each other and have one block table share what is read; a query gets no weight of
// cache rows behind its own row's number of them. Out is not written for dead rows.
type AttendRows struct {
	QAbs        Vec // [Heads] × LatDim
	QPe         Vec // [Heads] × PeDim
	Heads       int
	LatDim      int
	PeDim       int
	Scale       float64
	Temperature Temperature // as in Attend
	Cache       Paged
	Out         Vec // [Heads] × LatDim: Σ e^score c / Σ e^score
	Queries     int // of a threadgroup
	Tile        int // cache rows at a time, at most
}

// Groups implements Part.
func (p *AttendRows) Groups() int { return ceil(p.Heads, p.Queries) }

// groupsOfAll: a threadgroup may have queries of several rows.
func (p *AttendRows) groupsOfAll(k *Kernel) int { return ceil(k.Width*p.Heads, p.Queries) }

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

// The parts below are single steps that stand alone only when the fusion that
// absorbs them is disabled.

// NormVec is a stand-alone RMS norm of Dim elements.
type NormVec struct {
	In, Out Vec
	Dim     int
	Norm    Norm
}

// Groups implements Part.
func (p *NormVec) Groups() int { return 1 }

// RopeVec rotates Heads heads and copies what lies before the rotated dims.
type RopeVec struct {
	In, Out Vec // Stride = Rope.HeadDim
	Heads   int
	Rope    RopeAt
}

// Groups implements Part.
func (p *RopeVec) Groups() int { return 1 }

// CombineVec merges attention splits for all heads: out[h][c].
type CombineVec struct {
	Combine Combine
	Out     Vec
	Dim     int // KVLoraRank
}

// Groups implements Part.
func (p *CombineVec) Groups() int { return p.Combine.Heads }

// SwiGLUVec is out = silu(gate) * up.
type SwiGLUVec struct {
	Gate, Up, Out Vec
	Dim           int
	RowsPerGroup  int
}

// Groups implements Part.
func (p *SwiGLUVec) Groups() int { return ceil(p.Dim, p.RowsPerGroup) }

// AddVec is out = a + b.
type AddVec struct {
	A, B, Out    Vec
	Dim          int
	RowsPerGroup int
}

// Groups implements Part.
func (p *AddVec) Groups() int { return ceil(p.Dim, p.RowsPerGroup) }

// RouteVec runs gating alone and writes Routing.
type RouteVec struct {
	Gating  Gating
	Routing int
}

// Groups implements Part.
func (p *RouteVec) Groups() int { return 1 }

// RouteBatch is RouteVec and GroupExperts for the few rows of a batch: one threadgroup routes
// all rows, each simdgroup its share of them side by side, and groups what they select.
type RouteBatch struct {
	Gating   Gating
	Routing  int
	Grouping Grouping
}

// Groups implements Part.
func (p *RouteBatch) Groups() int { return 1 }

func (p *RouteBatch) groupsOfAll(*Kernel) int { return 1 }

// GroupExperts groups what all rows have selected: a threadgroup for each expert of the
// model counts what comes before its own selections.
type GroupExperts struct {
	Routing  int
	Grouping Grouping
}

// Groups implements Part.
func (p *GroupExperts) Groups() int { return p.Grouping.Experts }

func (p *GroupExperts) groupsOfAll(*Kernel) int { return p.Groups() }

// WeightedSum is out = Σ_i w_i in_i over the selected experts, plus the other vectors in
// their order.
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

func ceil(a, b int) int { return (a + b - 1) / b }

// GatherVec moves the vectors of the rows in SpaceWanted to the front of a slot with a
// vector per row: that of the i-th becomes the i-th. It computes all rows together.
type GatherVec struct {
	Vec      int // slot, written
	Dim      int
	PerGroup int // elements per threadgroup
}

// Groups implements Part.
func (p *GatherVec) Groups() int { return ceil(p.Dim, p.PerGroup) }

func (p *GatherVec) groupsOfAll(*Kernel) int { return p.Groups() }
