package linalg

import (
	"sync"

	"mla/runtime/quant"
)

// arranger brings inputs into the order of some kernels: from elements take to floats,
// which are the elements and then sums of some of them.
type arranger struct {
	from, to int
	run      arrangeFunc
}

// arrangeFunc arranges n floats, a positive multiple of what its arranger is for.
// Arguments are factors of the sums and of every fourth element.
type arrangeFunc func(dst, x *float32, n int, common, last float32)

// arrangement is what the kernels of a format want.
type arrangement struct {
	*arranger
	common float32 // factor of the sums
	last   float32 // factor of every fourth element
}

// size is the number of floats of an arranged input.
func (a *arrangement) size(elems int) int { return elems / a.from * a.to }

// Inputs are some vectors as the inner loops of a format take them. The zero value has
// none.
type Inputs struct {
	// Int8 says that vectors are to be rounded to signed bytes, under a scale for every 32 (K-quants: 256)
	// elements, where the back end has loops for these and the format (HasInt8): products
	// are then those of the rounded vectors. It holds from the next call of Set on.
	Int8 bool

	xs [][]float32 // as they are
	in [][]float32 // as the loops take them

	floats []float32                  // where they are arranged
	sums   []float32                  // of stretches
	panel  []float32                  // of weights
	row    []float32                  // of weights that go to a panel
	last   [mostPanelInputs][]float32 // those that do not fill a panelLoop
	x, y   [1][]float32               // of Rows
	part   [][]float32                // of results
	by     *Library                   // what multiplies them; nil: the loops
	matrix *float32                   // for it: the first input
	apart  int                        // floats between two inputs of it
	next   *Inputs                    // in the list inputsFree
}

// Set takes up vectors of equal length, for products with rows of f in the back end in
// use. They must not change until the products are done; where they need not be
// arranged they are read where they lie.
func (n *Inputs) Set(f *quant.Format, xs [][]float32) {
	n.xs = append(n.xs[:0], xs...)
	n.in = append(n.in[:0], xs...)
	if n.by = n.libraryFor(f); n.by != nil {
		n.asMatrix()
		return
	}
	k := n.kernel(f)
	if len(xs) == 0 || k.arranged == nil || len(xs[0]) < k.step {
		return
	}
	elems := len(xs[0]) / k.step * k.step
	size := k.arranged.size(elems)
	if len(n.floats) < len(xs)*size {
		n.floats = make([]float32, len(xs)*size)
	}
	for j, x := range xs {
		in := n.floats[j*size : (j+1)*size]
		k.arranged.run(&in[0], &x[0], elems, k.arranged.common, k.arranged.last)
		n.in[j] = in
	}
}

// kernel returns the loops that take the inputs.
func (n *Inputs) kernel(f *quant.Format) kernel {
	b := active.Load()
	if n.Int8 {
		if k, ok := b.int8[f.Type]; ok {
			return k
		}
	}
	return b.kernels[f.Type]
}

// HasInt8 says whether the back end in use multiplies inputs that are rounded to bytes; see
// Inputs.
func HasInt8() bool { return active.Load().int8 != nil }

// inputsFree lists memory that is not in use; there is as much of it as there were calls
// at the same time. A sync.Pool would lose some of it.
var inputsFree struct {
	sync.Mutex
	first *Inputs
}

// takeInputs returns memory that nobody uses.
func takeInputs() *Inputs {
	inputsFree.Lock()
	defer inputsFree.Unlock()
	n := inputsFree.first
	if n == nil {
		return new(Inputs)
	}
	inputsFree.first = n.next
	return n
}

// release gives memory back that takeInputs returned.
func (n *Inputs) release() {
	n.x, n.y = [1][]float32{}, [1][]float32{}
	clear(n.part)
	clear(n.xs)
	clear(n.in)
	clear(n.last[:])
	inputsFree.Lock()
	defer inputsFree.Unlock()
	n.next, inputsFree.first = inputsFree.first, n
}
