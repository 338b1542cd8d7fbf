// Package linalg is the CPU's linear algebra: products of rows of quantised weights with inputs of floats, of
// matrices, and of vectors.
//
// There are four back ends of inner loops, and one of them is chosen at run time: AVX-512, AVX2 and NEON
// assembly, which the generator in internal/asm writes, and pure Go. They agree up to the rounding of float32
// sums. Inputs are quantised only on request (Inputs.Int8).
package linalg

//go:generate go run ./internal/asm

import (
	"fmt"
	"strings"
	"sync/atomic"

	"mla/runtime/quant"
)

// backend is one set of inner loops.
type backend struct {
	name    string
	kernels map[quant.Type]kernel // formats without an entry use their pure Go Dot
	int8    map[quant.Type]kernel // loops for quantised inputs; inputs of formats without an entry are not quantised
	vectors *vectorLoops          // nil: pure Go
	panels  *panelLoops           // nil: no loops for many inputs
	// products is sorted by columns, then by rows, both falling. For each number of columns the last loop has
	// one row.
	products []productLoop
}

// kernel is the assembly of one format. It works on steps of step elements. The elements after the last whole
// step are left to the pure Go Dot: a single block, or for formats of one-element blocks a few elements. The
// zero kernel has no assembly.
type kernel struct {
	step int
	one  rowFunc
	four rowsFunc // nil where sharing the loads of x gains nothing
	// tiles multiply several rows by several inputs; the first takes more inputs than the second. A zero
	// second tile is not needed.
	tiles [2]tile
	// stretch multiplies more inputs than the tiles, a stretch of the elements at a time. Its functions may
	// be nil.
	stretch stretchLoops
	// arranged is the layout of x that the functions read; nil: x as it is.
	arranged *arrangement
	// floats is the kernel for rows of floats, with the same bits as one. It multiplies rows that decode has decoded, for
	// numbers of inputs that have no function here.
	floats *kernel
	decode decodeFunc // decodes whole steps of one row to floats
}

// rowFunc returns Σ row·x over steps·step elements. Here and below, x is arranged if the kernel has an
// arrangement.
type rowFunc func(w *byte, x *float32, steps int) float32

// rowsFunc computes y[r] = Σ row_r·x over steps·step elements for four rows, where
// row r starts at w + r·stride bytes. A row's bits are those of the rowFunc.
type rowsFunc func(w *byte, stride int, x *float32, steps int, y *float32)

var goBackend = backend{name: "go"}

// active is the current back end, at first the best one of this machine.
var active = func() *atomic.Pointer[backend] {
	var p atomic.Pointer[backend]
	p.Store(backends()[0])
	return &p
}()

// Backend returns the name of the current back end: "avx512", "avx2", "neon" or "go".
func Backend() string { return active.Load().name }

// SetBackend switches to the named back end, for tests and comparisons. It must not be called while products
// are computed, as these would mix the roundings of two back ends. It fails for a name that this machine
// cannot run.
func SetBackend(name string) error {
	var names []string
	for _, b := range backends() {
		if b.name == name {
			active.Store(b)
			return nil
		}
		names = append(names, b.name)
	}
	return fmt.Errorf("cpu back end %q: this machine has %s", name, strings.Join(names, ", "))
}

// Rows computes y[r] = Σ dequantized(row_r)[i]·x[i] for len(y) rows of len(x) elements, where row r starts at
// w[r·stride]. The bits of y[r] depend only on the row and x, not on the other rows. Rows panics unless
// len(x) is a multiple of BlockElems and w holds the rows.
func Rows(f *quant.Format, w []byte, stride int, x, y []float32) {
	rowBytes := checkRows(f, w, stride, len(x), len(y))
	b := active.Load()
	k := b.kernels[f.Type]
	if k.one == nil || len(x) < k.step {
		for r := range y {
			y[r] = f.Dot(w[r*stride:r*stride+rowBytes], x)
		}
		return
	}
	if k.arranged == nil {
		multiplyRows(f, &k, w, stride, x, x, y)
		return
	}
	in := takeInputs()
	in.x[0] = x
	in.Set(f, in.x[:])
	multiplyRows(f, &k, w, stride, x, in.in[0], y)
	in.release()
}

// multiplyRows computes y with the assembly of k. x has at least one step; in is x in the layout that k
// reads.
func multiplyRows(f *quant.Format, k *kernel, w []byte, stride int, x, in, y []float32) {
	r := 0
	if k.four != nil {
		for ; r+4 <= len(y); r += 4 {
			multiplyFour(f, k, w[r*stride:], stride, x, in, y[r:r+4])
		}
	}
	for ; r < len(y); r++ {
		y[r] = multiplyRow(f, k, w[r*stride:], x, in)
	}
}

// checkRows panics unless w holds the rows of elems elements, because the assembly does not check bounds. It
// returns the size of a row in bytes.
func checkRows(f *quant.Format, w []byte, stride, elems, rows int) int {
	rowBytes, err := f.RowBytes(elems)
	if err != nil {
		panic("linalg: " + err.Error())
	}
	last := rows - 1
	if last >= 0 && (stride < 0 || rowBytes > len(w) || stride > 0 && last > (len(w)-rowBytes)/stride) {
		panic(fmt.Sprintf("linalg: %d %s rows of %d bytes, %d bytes apart, do not fit in %d bytes",
			rows, f.Name, rowBytes, stride, len(w)))
	}
	return rowBytes
}

// stepsOf returns how many whole steps a row of elems elements has, and the element and the byte at which the
// rest begins.
func stepsOf(f *quant.Format, k *kernel, elems int) (steps, element, offset int) {
	steps = elems / k.step
	element = steps * k.step
	return steps, element, element / f.BlockElems * f.BlockBytes
}

// multiplyRow returns the sum of one row, with the bits of multiplyRows.
func multiplyRow(f *quant.Format, k *kernel, row []byte, x, in []float32) float32 {
	steps, element, offset := stepsOf(f, k, len(x))
	sum := k.one(&row[0], &in[0], steps)
	if element < len(x) {
		sum += f.Dot(row[offset:], x[element:])
	}
	return sum
}

// multiplyFour computes y[0…3], with the bits of multiplyRows.
func multiplyFour(f *quant.Format, k *kernel, w []byte, stride int, x, in, y []float32) {
	steps, element, offset := stepsOf(f, k, len(x))
	k.four(&w[0], stride, &in[0], steps, &y[0])
	if element == len(x) {
		return
	}
	for r := range y {
		y[r] += f.Dot(w[r*stride+offset:], x[element:])
	}
}
