// Package linalg is the CPU's linear algebra: products of rows of quantised weights and
// inputs of floats, of matrices and of vectors.
//
// Its inner loops come in four back ends, chosen once at run time: AVX-512, AVX2
// and NEON assembly written by the generator in internal/asm, and pure Go. They
// agree up to the rounding of float32 sums. Inputs are quantised only where they are
// asked to be (Inputs.Int8).
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
	kernels map[quant.Type]kernel // formats without an entry run their pure Go Dot
	int8    map[quant.Type]kernel // of inputs that are quantised; without an entry these are not
	vectors *vectorLoops          // nil: pure Go
	panels  *panelLoops           // nil: many inputs have no loops of their own
	// products come most columns first, then most rows; those of as many columns
	// end with one row.
	products []productLoop
}

// kernel is the assembly of one format. It works on steps of step elements; the
// elements of a row past the last whole step (those of a block that is
// left over, or of formats of one-element blocks) are left to the pure Go Dot. The zero kernel has no assembly.
type kernel struct {
	step int
	one  rowFunc
	four rowsFunc // nil where sharing the loads of x gains nothing
	// tiles multiply several rows and inputs, the first most inputs. Where the second
	// has no function the first is enough.
	tiles [2]tile
	// stretch multiplies more inputs than the tiles, by some of the elements. It may have no
	// functions.
	stretch stretchLoops
	// arranged is how x is prepared for the functions; nil: they take it as it is.
	arranged *arrangement
	// floats multiplies rows that were decoded to floats, with the bits of one: what has no function of its
	// own goes through it.
	floats *kernel
	decode decodeFunc // decodes whole steps of one row for it
}

// rowFunc returns Σ row·x over steps·step elements. Here and below x may be arranged.
type rowFunc func(w *byte, x *float32, steps int) float32

// rowsFunc computes y[r] = Σ row_r·x over steps·step elements for four rows, where
// row r starts at w + r·stride bytes. A row's bits are those of the rowFunc.
type rowsFunc func(w *byte, stride int, x *float32, steps int, y *float32)

var goBackend = backend{name: "go"}

// active is the back end in use, at first the best one of this machine.
var active = func() *atomic.Pointer[backend] {
	var p atomic.Pointer[backend]
	p.Store(backends()[0])
	return &p
}()

// Backend returns the name of the inner loops in use: "avx512", "avx2", "neon" or "go".
func Backend() string { return active.Load().name }

// SetBackend switches to the named inner loops, for tests and comparisons. Call
// it before the work starts: sums in flight would mix the roundings of two back
// ends. It fails for a name that this machine cannot run.
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

// Rows computes y[r] = Σ dequantized(row_r)[i]·x[i] for len(y) rows of len(x)
// elements, where row r starts at w[r·stride]. The bits of y[r] depend on the
// row and x only, not on the rows it is computed with. len(x) must be a multiple
// of BlockElems and w must hold the rows; otherwise Rows panics, as an index out
// of range does.
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

// rows computes y with the assembly of k; x is at least one step, and in is x as k
// takes it.
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

// checkRows panics unless w holds a number of rows of elems elements, and returns
// the size of a row. The assembly relies on it.
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

// split returns how many steps the assembly takes of a row of elems elements, and
// the element and byte where the rest begins.
func stepsOf(f *quant.Format, k *kernel, elems int) (steps, element, offset int) {
	steps = elems / k.step
	element = steps * k.step
	return steps, element, element / f.BlockElems * f.BlockBytes
}

// row returns the sum of one row as rows does.
func multiplyRow(f *quant.Format, k *kernel, row []byte, x, in []float32) float32 {
	steps, element, offset := stepsOf(f, k, len(x))
	sum := k.one(&row[0], &in[0], steps)
	if element < len(x) {
		sum += f.Dot(row[offset:], x[element:])
	}
	return sum
}

// fourRows computes y[0…3] as rows does.
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
