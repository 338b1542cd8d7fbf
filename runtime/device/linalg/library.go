package linalg

import (
	"math"
	"sync/atomic"
	"unsafe"

	"mla/runtime/quant"
)

// A library of the system may multiply many inputs by weights in place of the loops: as it knows no formats,
// it gets rows that were decoded to floats. It adds up in an order of its own, see LibraryError.

// Library is a library of matrix products.
type Library struct {
	Name string
	// Multiply makes c[i][j] = Σ a[i][e]·b[j][e] for i below m, j below n and e below k, of floats whose rows
	// begin lda, ldb and ldc floats apart. Several goroutines may call it at a time.
	Multiply func(m, n, k int, a *float32, lda int, b *float32, ldb int, c *float32, ldc int)
}

// LibraryInputs is as few inputs as the library multiplies.
const LibraryInputs = 64

// LibraryError is how far a sum of n products may be from that of the loops, as a part of the sum of the
// products' sizes: both round to floats n times, and errors of either sign add up like the root of n.
func LibraryError(n int) float64 { return math.Sqrt(float64(n)) / (1 << 22) }

var library atomic.Pointer[Library]

// SetLibrary lets l multiply many inputs from now on; nil: the loops do. Call it before the work starts. Plain Go
// never takes it.
func SetLibrary(l *Library) { library.Store(l) }

// libraryFor is what multiplies the inputs by rows of f in place of the loops; nil: nothing does.
func (n *Inputs) libraryFor(f *quant.Format) *Library {
	b := active.Load()
	if len(n.xs) < LibraryInputs || len(n.xs[0]) == 0 || b == &goBackend || n.Int8 && b.int8[f.Type].one != nil {
		return nil
	}
	return library.Load()
}

// rowsApart is how many floats lie between the beginnings of vectors that are evenly apart, as the rows of a
// matrix; 0: they are not.
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

// asMatrix makes a matrix of the inputs: where they lie, or of copies.
func (n *Inputs) asMatrix() {
	if n.apart = rowsApart(n.xs); n.apart > 0 {
		n.matrix = &n.xs[0][0]
		return
	}
	n.apart = len(n.xs[0])
	if len(n.floats) < len(n.xs)*n.apart {
		n.floats = make([]float32, len(n.xs)*n.apart)
	}
	for i, x := range n.xs {
		copy(n.floats[i*n.apart:], x)
	}
	n.matrix = &n.floats[0]
}

// multiplyByLibrary computes ys as Product does.
func multiplyByLibrary(f *quant.Format, k *kernel, w []byte, stride int, in *Inputs, ys [][]float32, rows int) {
	elems := len(in.xs[0])
	in.room(PanelRows*elems, PanelRows*len(ys))
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
			in.by.Multiply(len(ys), n, elems, in.matrix, in.apart, &in.panel[0], elems, &in.part[0][0], apart)
			continue
		}
		in.by.Multiply(len(ys), n, elems, in.matrix, in.apart, &in.panel[0], elems, &in.sums[0], n)
		for i, y := range in.part {
			copy(y, in.sums[i*n:(i+1)*n])
		}
	}
}

// decodeRow makes floats of a row: with the loops of those formats that have some for single rows.
func decodeRow(f *quant.Format, k *kernel, row []byte, to []float32) {
	if k.floats != nil && len(to)%k.step == 0 {
		k.decode(&row[0], len(to)/k.step, &to[0])
		return
	}
	f.Dequantize(to, row)
}
