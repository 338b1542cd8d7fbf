package plan

// Sequence is the dispatches that run several rows at once, of one session or of many.
// An activation of such a sequence is one vector per row, Slot.Stride elements apart.
// Fewer rows than Width fill the first places of SpaceRow; behind them are dead rows.
type Sequence struct {
	Width      int        // rows
	Dispatches []Dispatch // in order
	Head       int        // as Bundle.Head
	ArenaBytes int64      // size of the arena
}

// Sequences lists all sequences of the bundle by rising width, that of one row first.
func (b *Bundle) Sequences() []Sequence {
	return append([]Sequence{{1, b.Decode, b.Head, b.ArenaBytes}}, b.Batches...)
}

// Width is how many rows the widest sequence runs at once.
func (b *Bundle) Width() int {
	if n := len(b.Batches); n > 0 {
		return b.Batches[n-1].Width
	}
	return 1
}

// StrideAlign is what the distance between the activations of two rows is a multiple of,
// in elements, so that every row is as aligned as the first.
const StrideAlign = 16

// StrideOf is the distance between vectors of n elements.
func StrideOf(n int) int { return ceil(n, StrideAlign) * StrideAlign }

// MaxTile is the most rows that a mat-vec multiplies by a weight that it has loaded.
const MaxTile = 8

// Tile is how many rows the kernel's mat-vecs take at a time.
func (k *Kernel) Tile() int { return min(max(k.Width, 1), MaxTile) }

// GroupsOf is the number of threadgroups of one of the kernel's parts. A part that takes
// rows together says how many there are of all rows; the others have as many for each.
func (k *Kernel) GroupsOf(p Part) int {
	if k.Width == 0 {
		return p.Groups()
	}
	if t, ok := p.(together); ok {
		return t.groupsOfAll(k)
	}
	return k.Width * p.Groups()
}

// together is a part that computes several rows in one threadgroup.
type together interface{ groupsOfAll(k *Kernel) int }

// Together says whether a part of a kernel with a Width computes several rows in one
// threadgroup.
func Together(p Part) bool {
	_, ok := p.(together)
	return ok
}
