package quant

import "sync"

// Of arranged inputs every 32 elements take 40 floats: the elements as a kernel
// wants them, and eight sums of four.
const (
	arrangedFrom = 32
	arrangedTo   = 40
)

// arrangement is what kernels want to be different in arranged inputs.
type arrangement struct {
	common float32 // factor of the sums
	last   float32 // factor of every fourth element
}

// arrangeFunc arranges n floats, a positive multiple of arrangedFrom, with the factors
// of an arrangement.
type arrangeFunc func(dst, x *float32, n int, common, last float32)

// arranged is the memory of some arranged inputs.
type arranged struct {
	floats []float32
	inputs [][]float32
	next   *arranged
}

// arrangedFree lists memory that is not in use; there is as much of it as there were
// calls at the same time. A sync.Pool would lose some of it.
var arrangedFree struct {
	sync.Mutex
	first *arranged
}

// takeArranged returns memory that nobody uses.
func takeArranged() *arranged {
	arrangedFree.Lock()
	defer arrangedFree.Unlock()
	a := arrangedFree.first
	if a == nil {
		return new(arranged)
	}
	arrangedFree.first = a.next
	return a
}

// release gives the memory of arranged inputs back; a may be nil.
func (a *arranged) release() {
	if a == nil {
		return
	}
	arrangedFree.Lock()
	defer arrangedFree.Unlock()
	a.next, arrangedFree.first = arrangedFree.first, a
}

// prepare returns inputs of at least one step as the loops of a kernel take them:
// themselves, or arranged in memory that is to be released.
func (b *backend) prepare(k *kernel, xs [][]float32) ([][]float32, *arranged) {
	if k.arranged == nil {
		return xs, nil
	}
	elems := len(xs[0])
	size := elems / arrangedFrom * arrangedTo
	a := takeArranged()
	if len(a.floats) < len(xs)*size {
		a.floats = make([]float32, len(xs)*size)
	}
	a.inputs = a.inputs[:0]
	for j, x := range xs {
		in := a.floats[j*size : (j+1)*size]
		b.arrange(&in[0], &x[0], elems, k.arranged.common, k.arranged.last)
		a.inputs = append(a.inputs, in)
	}
	return a.inputs, a
}
