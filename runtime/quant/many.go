package quant

import "fmt"

// tile is a tileFunc and the numbers of rows and inputs that it multiplies.
type tile struct {
	rows, inputs int
	run          tileFunc
}

// tileFunc computes ys[j][row+r] = Σ row_r·xs[j] over steps·step elements for the
// rows and inputs of a tile, where row r starts at w + r·stride bytes and xs and ys
// point to the first of the inputs and of the results. The bits of a sum are those
// of the rowFunc.
type tileFunc func(w *byte, stride int, xs *[]float32, steps int, ys *[]float32, row int)

// RowsMany is Rows for several inputs: it computes ys[j][r] = Σ row_r·xs[j], with
// the bits that Rows gives for xs[j] alone. In assembly a weight is decoded once for
// two or four inputs. All of xs must be as long as the first, and so must ys; otherwise RowsMany
// panics, and where Rows does.
func (f *Format) RowsMany(w []byte, stride int, xs, ys [][]float32) {
	elems, rows := inputSizes(xs, ys)
	f.checkRows(w, stride, elems, rows)
	b := active.Load()
	k := b.kernels[f.Type]
	if len(xs) < 2 || k.one == nil || elems < k.step {
		for j, x := range xs {
			f.Rows(w, stride, x, ys[j])
		}
		return
	}
	ins, memory := b.prepare(&k, xs)
	for r := 0; r < rows; r += nearRows {
		f.tiles(&k, w, stride, xs, ins, ys, r, min(r+nearRows, rows))
	}
	memory.release()
}

// nearRows is the number of rows that RowsMany multiplies by all inputs before it goes
// on: few enough to stay in a near cache.
const nearRows = 32

// tiles multiplies rows r0 to r1 by all inputs, which are of at least one step; ins
// are xs as k takes them.
func (f *Format) tiles(k *kernel, w []byte, stride int, xs, ins, ys [][]float32, r0, r1 int) {
	for _, t := range k.tiles {
		for ; t.run != nil && len(xs) >= t.inputs; xs, ins, ys = xs[t.inputs:], ins[t.inputs:], ys[t.inputs:] {
			f.tile(k, t, w, stride, xs[:t.inputs], ins, ys, r0, r1)
		}
	}
	for j, x := range xs {
		f.rows(k, w[r0*stride:], stride, x, ins[j], ys[j][r0:r1])
	}
}

// inputSizes returns the lengths of the inputs and of their results. It panics if
// they differ.
func inputSizes(xs, ys [][]float32) (elems, rows int) {
	if len(xs) != len(ys) {
		panic(fmt.Sprintf("quant: %d inputs for %d results", len(xs), len(ys)))
	}
	for j := range xs {
		if len(xs[j]) != len(xs[0]) || len(ys[j]) != len(ys[0]) {
			panic(fmt.Sprintf("quant: input %d has %d elements for %d rows; the first has %d for %d",
				j, len(xs[j]), len(ys[j]), len(xs[0]), len(ys[0])))
		}
	}
	if len(xs) > 0 {
		elems, rows = len(xs[0]), len(ys[0])
	}
	return elems, rows
}

// tile multiplies rows r0 to r1 by the inputs of a tile, some rows at a time and what
// is left of them one by one.
func (f *Format) tile(k *kernel, t tile, w []byte, stride int, xs, ins, ys [][]float32, r0, r1 int) {
	steps, element, offset := f.split(k, len(xs[0]))
	r := r0
	for ; r+t.rows <= r1; r += t.rows {
		t.run(&w[r*stride], stride, &ins[0], steps, &ys[0], r)
	}
	for j, x := range xs {
		if element < len(x) {
			for i := r0; i < r; i++ {
				ys[j][i] += f.Dot(w[i*stride+offset:], x[element:])
			}
		}
		for i := r; i < r1; i++ {
			ys[j][i] = f.row(k, w[i*stride:], x, ins[j])
		}
	}
}
