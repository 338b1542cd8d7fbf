package device

import (
	"fmt"
	"unsafe"

	"mla/runtime/device/linalg"
	"mla/runtime/plan"
)

// Vectored is a Runner of a bundle whose sequences have vectors that the host writes or reads: the inputs of
// an MTP layer, and hidden states.
type Vectored interface {
	Runner
	// SetInput sets the inputs of the next Replay or Pick, which has to run as many rows: consecutive
	// vectors, one per row.
	SetInput(vectors []float32) error
	// Hidden copies the hidden states of the rows of the last Replay or Pick to dst, [rows][Len].
	Hidden(dst []float32) error
}

// rowsOf is the number of vectors in a slice. It fails unless they are complete and at most width.
func rowsOf(vectors []float32, v *plan.Vectors, width int) (int, error) {
	if v == nil {
		return 0, fmt.Errorf("the bundle has no such vectors")
	}
	n := len(vectors) / v.Len
	if n*v.Len != len(vectors) || n < 1 || n > width {
		return 0, fmt.Errorf("%d numbers are not 1 to %d vectors of %d", len(vectors), width, v.Len)
	}
	return n, nil
}

// Vectors returns the sequence's vectors for a slice of vectors: of the narrowest sequence, up to width rows,
// that runs as many rows as there are vectors. which selects the vectors of a sequence.
func Vectors(b *plan.Bundle, vectors []float32, width int, which func(*plan.Sequence) *plan.Vectors) (rows int, v *plan.Vectors, err error) {
	all := b.Sequences
	if rows, err = rowsOf(vectors, which(&all[0]), width); err != nil {
		return 0, nil, err
	}
	for i := range all {
		if all[i].Width >= rows {
			return rows, which(&all[i]), nil
		}
	}
	return 0, nil, fmt.Errorf("no sequence runs %d rows", rows)
}

// InputOf returns the input vectors of a sequence; nil: it has none.
func InputOf(q *plan.Sequence) *plan.Vectors { return q.Input }

// HiddenOf returns the hidden states of a sequence; nil: it keeps none.
func HiddenOf(q *plan.Sequence) *plan.Vectors { return q.Hidden }

// PutVectors writes vectors to dst, which begins at the first vector's place in the arena.
func PutVectors(dst []byte, v *plan.Vectors, act plan.Elem, vectors []float32) {
	size := v.ElemBytes(act)
	for row := 0; row*v.Len < len(vectors); row++ {
		at, from := dst[row*v.Stride*size:], vectors[row*v.Len:][:v.Len]
		if size == 2 {
			linalg.FloatsToHalves(elements[uint16](at, v.Len), from)
		} else {
			copy(elements[float32](at, v.Len), from)
		}
	}
}

// TakeVectors reads vectors to dst from src, which begins at the first vector's place in the arena.
func TakeVectors(dst []float32, src []byte, v *plan.Vectors) {
	for row := 0; row*v.Len < len(dst); row++ {
		copy(dst[row*v.Len:][:v.Len], elements[float32](src[row*v.Stride*4:], v.Len))
	}
}

// elements views the first n numbers of aligned memory. Hosts and devices are little-endian.
func elements[T uint16 | float32](memory []byte, n int) []T {
	var t T
	_ = memory[n*int(unsafe.Sizeof(t))-1] // panics if there are fewer
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(memory))), n)
}
