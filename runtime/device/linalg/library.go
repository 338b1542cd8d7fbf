package linalg

import (
	"math"
	"sync/atomic"
	"unsafe"

	"mla/runtime/quant"
)

// A system library may multiply many inputs by weights in place of the loops. It does not know the formats,
// so rows are decoded to floats for it. Its order of summation differs from that of the loops; see
// LibraryError.

// Library is a library of matrix products.
type Library struct {
	Name string
	// Multiply computes c[i][j] = Σ a[i][e]·b[j][e] for i < m, j < n and e < k, of row-major matrices whose
	// rows begin lda, ldb and ldc floats apart. It may be called concurrently.
	Multiply func(m, n, k int, a *float32, lda int, b *float32, ldb int, c *float32, ldc int)
}

// LibraryInputs is the least number of inputs that the library multiplies.
const LibraryInputs = 64

// LibraryError bounds the difference between the library's sum of n products and the loops' sum, relative to
// the sum of the products' magnitudes. Both round to floats n times, and independent errors grow like the
// root of n.
func LibraryError(n int) float64 { return math.Sqrt(float64(n)) / (1 << 22) }

var library atomic.Pointer[Library]

// SetLibrary makes l multiply many inputs from now on; nil: the loops do. It must not be called while
// products are computed. The pure Go back end never uses a library.
func SetLibrary(l *Library) { library.Store(l) }

// libraryFor returns the library that multiplies the inputs by rows of f; nil: the loops do.
func (n *Inputs) libraryFor(f *quant.Format) *Library {
	b := active.Load()
	if len(n.xs) < LibraryInputs || len(n.xs[0]) == 0 || b == &goBackend || n.Int8 && b.int8[f.Type].one != nil {
		return nil
	}
	return library.Load()
}

// rowsApart is the distance in floats between vectors that are the rows of one matrix in memory; 0: they are
// not.
func rowsApart(xs [][]float32) int {
	at := func(i int) int { return int(uintptr(unsafe.Pointer(&xs[i][0]))) }
	step := at(1) - at(0)
	if step <= 0 || step%4 != 0 || step/4 < len(xs[0]) || step/4 > math.MaxInt32 {
		return 0
	}
	for i := range xs {
		if at(i)-at(0) != i*step {
			return 0
		}
	}
	return step / 4
}

// asMatrix makes a row-major matrix of the inputs: in place if they are one already, else as a copy.
func (n *Inputs) asMatrix() {
	if n.matrixRow = rowsApart(n.xs); n.matrixRow > 0 {
		n.matrix = &n.xs[0][0]
		return
	}
	n.matrixRow = len(n.xs[0])
	if len(n.floats) < len(n.xs)*n.matrixRow {
		n.floats = make([]float32, len(n.xs)*n.matrixRow)
	}
	for i, x := range n.xs {
		copy(n.floats[i*n.matrixRow:], x)
	}
	n.matrix = &n.floats[0]
}

// multiplyByLibrary computes ys as Product does, with the library.
func multiplyByLibrary(f *quant.Format, k *kernel, w []byte, stride int, in *Inputs, ys [][]float32, rows int) {
	elems := len(in.xs[0])
	in.grow(PanelRows*elems, PanelRows*len(ys))
	for r := 0; r < rows; r += PanelRows {
		n := min(PanelRows, rows-r)
		for i := range n {
			decodeRow(f, k, w[(r+i)*stride:], in.panel[i*elems:(i+1)*elems])
		}
		in.part = in.part[:0]
		for _, y := range ys {
			in.part = append(in.part, y[r:r+n])
		}
		if apart := rowsApart(in.part); apart > 0 {
			in.lib.Multiply(len(ys), n, elems, in.matrix, in.matrixRow, &in.panel[0], elems, &in.part[0][0], apart)
			continue
		}
		in.lib.Multiply(len(ys), n, elems, in.matrix, in.matrixRow, &in.panel[0], elems, &in.sums[0], n)
		for i, y := range in.part {
			copy(y, in.sums[i*n:(i+1)*n])
		}
	}
}

// decodeRow decodes a row to floats, in assembly if the format has loops for it.
func decodeRow(f *quant.Format, k *kernel, row []byte, to []float32) {
	if k.floats != nil && len(to)%k.step == 0 {
		k.decode(&row[0], len(to)/k.step, &to[0])
		return
	}
	f.Dequantize(to, row)
}
