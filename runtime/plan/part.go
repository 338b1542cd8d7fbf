package plan

// Part is one composition prologue × body × epilogue. Fields of type int that are named after a tensor are
// slot indices; pointers are optional pieces. A kernel has one slot of SpaceRow or SpaceWanted with the
// token, position and block table of its row, and one slot of SpaceArgs with its strides; parts do not name
// these two.
//
// Verification, memory layout and test data are derived from Uses and Sizes alone.
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

// NormPartial is the epilogue that computes the first half of the next norm: Ready[i] = out[i]*Weight[i], and
// one sum of squares per Group results. It comes beside the plain result, or in place of it (Out.Slot -1).
// Without it, every threadgroup that reads the norm would compute it again. NormApply is the second half.
type NormPartial struct {
	Weight  int // [Rows] float32
	Ready   int // [Rows], of the activations' type
	Squares int // [Rows/Group] float32
	Group   int // a power of two of up to 32 that divides Rows and RowsPerGroup
}

// NormApply is the prologue that finishes the norm of a NormPartial: in[i]*rsqrt(ΣSquares/Cols+Eps). The
// factor is the same for all elements, so kernels apply it to their results.
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

// Splits divides attention along the cache rows: split s covers rows [s*per, (s+1)*per) ∩ [0, NKV), with per
// = Per(NKV), a multiple of Tile. Splits that start at or past NKV are empty; at most Count are not.
type Splits struct {
	Count, Tile int
	// Least is the smallest number of cache rows per split, a multiple of Tile; 0: Tile. Each split loads its
	// queries again and leaves sums to combine, so fewer splits are better where several rows attend in
	// parallel and fill the GPU anyway.
	Least int
	// PerCore is how many splits there are for each core of the GPU; 0: the number does not depend on the
	// GPU. When it records the dispatches, the device sets the number, up to Count (WithSplits). Kernels read
	// it after their strides, see Kernel.Constants.
	PerCore int
}

// Per is the number of cache rows per split for n valid rows. Combining one split costs about as much as
// attention to two or three rows. So there are at most about four times as many splits as rows in each: Tile
// or Least is doubled until four times its square reaches n.
func (s Splits) Per(n int) int {
	least := max(s.Tile, s.Least)
	for 4*least*least < n {
		least *= 2
	}
	return max(least, ceil(n, s.Count*s.Tile)*s.Tile)
}

// Used is how many splits are not empty with n valid rows; they are the first ones.
func (s Splits) Used(n int) int { return ceil(n, s.Per(n)) }

// Combine is the prologue that merges attention splits of head b (the exact
// flash-decode combine): m = max_s m_s, o = Σ e^(m_s-m) l_s o_s / Σ e^(m_s-m) l_s.
type Combine struct {
	Out    int // [Splits.Count][heads][KVLoraRank]: attention to the split alone; undefined for an empty split
	ML     int // [Splits.Count][heads][2] float32: m, the largest score or a number near it, and l = Σ e^(score-m); -1e30 and 0 for an empty split
	Splits Splits
	Heads  int
}

// ceil is a/b rounded up. Plans that are not verified yet may have b = 0.
func ceil(a, b int) int { return (a + b - 1) / max(b, 1) }
