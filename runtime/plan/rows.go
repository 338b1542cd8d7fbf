package plan

import "cmp"

// Sequence is the dispatches that run a given number of rows at once, of one session or of several. In a
// sequence of several rows an activation is one vector per row, Slot.Stride elements apart. When there are
// fewer rows than Width, the first places of SpaceRow have them, and the rest are dead rows.
type Sequence struct {
	Width      int        // rows
	Dispatches []Dispatch // in order
	// Head is the first dispatch that only computes logits. Inside a prompt the dispatches before it are enough. In a
	// sequence of several rows the head begins by gathering the wanted rows.
	Head       int
	ArenaBytes int64    // size of the arena
	Input      *Vectors // the vectors with which its rows begin, written by the host; nil: the rows begin with an embedding
	Hidden     *Vectors // the residual stream after the last layer, valid until the next replay; nil: it is not kept
}

// Vectors are vectors of Len elements in the arena, one per row.
type Vectors struct {
	Offset      int64 // of the first vector, in bytes
	Len, Stride int   // in elements; Stride is the distance between the vectors of two rows, 0 in a sequence of one row
	Elem        Elem  // ElemF32, or for inputs ElemAct
}

// ElemBytes is the size of an element in a bundle with activations act.
func (v *Vectors) ElemBytes(act Elem) int {
	if v.Elem == ElemAct && act == ElemF16 {
		return 2
	}
	return 4
}

// Bytes is the size in bytes of the vectors of a number of rows, with the gaps between them.
func (v *Vectors) Bytes(rows int, act Elem) int64 {
	return int64(v.ElemBytes(act)) * (int64(rows-1)*int64(v.Stride) + int64(v.Len))
}

// Decode is the sequence of one row.
func (b *Bundle) Decode() *Sequence {
	if len(b.Sequences) == 0 {
		return &Sequence{}
	}
	return &b.Sequences[0]
}

// Batches are the sequences of several rows.
func (b *Bundle) Batches() []Sequence { return b.Sequences[min(1, len(b.Sequences)):] }

// Width is how many rows the widest sequence runs at once.
func (b *Bundle) Width() int {
	if n := len(b.Sequences); n > 0 {
		return b.Sequences[n-1].Width
	}
	return 0
}

// StrideAlign divides the distance in elements between the activations of two rows, so that every row is as
// aligned as the first.
const StrideAlign = 16

// StrideOf is the distance between vectors of n elements.
func StrideOf(n int) int { return ceil(n, StrideAlign) * StrideAlign }

// MaxWidth is the most rows of a sequence. Sizes and indices over all rows fit their types up to it.
const MaxWidth = 1 << 12

// The maximum number of rows of a batch. Wider sequences are for prompts. See Bundle.BatchRows.
const (
	DefaultBatch = 16 // in a bundle without MaxBatch
	LargestBatch = 32 // in any bundle; the size of memory that does not depend on a bundle
)

// BatchRows returns the maximum number of rows of a batch. The memory of wanted rows, logits and picks has a place for
// each of them.
func (b *Bundle) BatchRows() int { return batchRows(b.MaxBatch) }

func batchRows(most int) int { return cmp.Or(most, DefaultBatch) }

// WantedRows returns the maximum number of rows whose logits one replay of rows rows computes: all rows of a batch, at
// most DefaultBatch rows of a prompt. Tokens are picked after these rows only. batch is the bundle's BatchRows. A sequence
// of several rows moves the hidden states of the wanted rows to the front (GatherVec), and its Head computes only these.
func WantedRows(rows, batch int) int {
	if rows <= batch {
		return rows
	}
	return DefaultBatch
}

// GroupsOf is the number of threadgroups of one of the kernel's parts. A part that batches rows says how many
// it has for all rows; another part has Groups for each row.
func (k *Kernel) GroupsOf(p Part) int {
	if k.Width == 0 {
		return p.Groups()
	}
	if BatchesRows(p) {
		return p.(rowBatcher).groupsOfAll(k)
	}
	return k.Width * p.Groups()
}

// rowBatcher is a part that can compute several rows in one threadgroup.
type rowBatcher interface{ groupsOfAll(k *Kernel) int }

// BatchesRows says whether a part of a kernel with a Width computes several rows in one
// threadgroup.
func BatchesRows(p Part) bool {
	_, can := p.(rowBatcher)
	m := ProductOf(p)
	return can && (m == nil || m.Tokens > 0)
}
