package linalg

import (
	"sync"

	"mla/runtime/quant"
)

// arranger brings inputs into the order of some inner loops. It turns every from elements into to floats: the
// elements, then sums of some of them.
type arranger struct {
	from, to int
	run      arrangeFunc
}

// arrangeFunc arranges n floats; n is a positive multiple of arranger.from. common is the factor of the sums,
// last that of every fourth element.
type arrangeFunc func(dst, x *float32, n int, common, last float32)

// arrangement is the input layout that the inner loops of a format read.
type arrangement struct {
	*arranger
	common float32 // factor of the sums
	last   float32 // factor of every fourth element
}

// size is the number of floats of an arranged input of elems elements.
func (a *arrangement) size(elems int) int { return elems / a.from * a.to }

// Inputs is a list of vectors of equal length, arranged for the inner loops of a format. The zero value is
// empty.
type Inputs struct {
	// Int8 asks for vectors that are rounded to signed bytes, with a scale for every 32 elements (for
	// K-quants: 256), if the back end has loops for such inputs and the format (HasInt8). Products are then
	// those of the rounded vectors. It takes effect at the next call of Set.
	Int8 bool

	xs [][]float32 // as the caller gave them
	in [][]float32 // as the inner loops read them

	floats    []float32                  // memory of arranged inputs
	sums      []float32                  // partial sums of stretches or panels
	panel     []float32                  // decoded weights
	row       []float32                  // a row of weights on its way to a panel
	last      [mostPanelInputs][]float32 // the last inputs, fewer than a panelLoop takes
	x, y      [1][]float32               // arguments of Rows
	part      [][]float32                // results of a part of the rows
	lib       *Library                   // the library that multiplies the inputs; nil: the loops do
	matrix    *float32                   // the inputs as the library's matrix
	matrixRow int                        // floats between two rows of this matrix
	next      *Inputs                    // in the list inputsFree
}

// Set takes vectors of equal length for products with rows of format f in the current back end. Vectors that
// need no arranging are not copied. They must not change until the products are computed.
func (n *Inputs) Set(f *quant.Format, xs [][]float32) {
	n.xs = append(n.xs[:0], xs...)
	n.in = append(n.in[:0], xs...)
	if n.lib = n.libraryFor(f); n.lib != nil {
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

// kernel returns the inner loops that read the inputs.
func (n *Inputs) kernel(f *quant.Format) kernel {
	b := active.Load()
	if n.Int8 {
		if k, ok := b.int8[f.Type]; ok {
			return k
		}
	}
	return b.kernels[f.Type]
}

// HasInt8 says whether the current back end can multiply inputs that are rounded to bytes; see Inputs.
func HasInt8() bool { return active.Load().int8 != nil }

// inputsFree lists unused Inputs, with the memory of earlier calls. Its length is the largest number of
// concurrent calls. A sync.Pool would drop the memory at garbage collections.
var inputsFree struct {
	sync.Mutex
	first *Inputs
}

// takeInputs returns an unused Inputs.
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

// release returns Inputs from takeInputs to the list.
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
