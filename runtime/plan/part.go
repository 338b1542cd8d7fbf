package plan

// Part is one composition prologue × body × epilogue. Fields of type int
// named after a tensor are slot indices; pointers are optional pieces. What a
// part needs of its row (token, position, block table) is in the kernel's one slot of
// SpaceRow, or of SpaceWanted, and the batch strides in its one slot of SpaceArgs.
//
// Parts describe themselves: what checks, counts and fills their memory follows from Uses and Sizes.
type Part interface {
	// Groups is the number of threadgroups that the part runs on.
	Groups() int
	// Uses lists what the part does with its slots.
	Uses() []Use
	// Sizes lists the dimensions that must be positive.
	Sizes() []int
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
	// PerCore is how many splits there are for each core of the GPU at hand; 0: the number does not
	// depend on it. The device says how many there are, up to Count, when it records the dispatches:
	// WithSplits. The kernels read the number after their strides, see Kernel.Constants.
	PerCore int
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

// ceil is a/b rounded up. What is not yet checked may have a b of 0.
func ceil(a, b int) int { return (a + b - 1) / max(b, 1) }
