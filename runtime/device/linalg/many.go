package linalg

import (
	"fmt"

	"mla/runtime/quant"
)

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
// the bits that Rows gives for xs[j] alone. All of xs must be as long as the first, and
// so must ys; otherwise RowsMany panics, and where Rows does.
func RowsMany(f *quant.Format, w []byte, stride int, xs, ys [][]float32) {
	elems, rows := inputSizes(xs, ys)
	checkRows(f, w, stride, elems, rows)
	in := takeInputs()
	in.Set(f, xs)
	Product(f, w, stride, in, ys)
	in.release()
}

// Product computes ys[j][r] = Σ row_r·x_j for rows as Rows takes them and the inputs that
// were set for this format, any number of them. In assembly a weight is decoded once for
// up to four inputs, or for all of them where they are many. The bits of ys[j][r] depend on the row and x_j only: they are those
// that Rows gives. Product panics where RowsMany does. A library (SetLibrary) has other bits.
func Product(f *quant.Format, w []byte, stride int, in *Inputs, ys [][]float32) {
	elems, rows := inputSizes(in.xs, ys)
	checkRows(f, w, stride, elems, rows)
	k := in.kernel(f)
	if in.by != nil && rows > 0 {
		multiplyByLibrary(f, &k, w, stride, in, ys, rows)
		return
	}
	panels, format := in.panelOf(f)
	if k.floats != nil && len(ys) > 1 && format.decode == nil {
		multiplyDecoded(&k, w, stride, in, ys, 0, rows)
		return
	}
	if k.one == nil || elems < k.step {
		rowBytes := elems / f.BlockElems * f.BlockBytes
		for j, x := range in.xs {
			for r := range rows {
				ys[j][r] = f.Dot(w[r*stride:r*stride+rowBytes], x)
			}
		}
		return
	}
	near := nearRows
	if len(ys) == 1 {
		near = rows // nothing comes back to them
	}
	if format.decode != nil {
		near = nearPanel(elems)
	}
	for r := 0; r < rows; r += near {
		if format.decode != nil {
			multiplyPanel(f, panels, format, &k, w, stride, in, ys, r, min(r+near, rows))
		} else {
			multiplyTiles(f, &k, w, stride, in, ys, r, min(r+near, rows))
		}
	}
}

// nearRows is the number of rows that are multiplied by all inputs before the next: few
// enough to stay in a near cache.
const nearRows = 32

// tiles multiplies rows r0 to r1 by all inputs, which are of at least one step.
func multiplyTiles(f *quant.Format, k *kernel, w []byte, stride int, in *Inputs, ys [][]float32, r0, r1 int) {
	j := 0
	for ; k.stretch.add != nil && j+stretchInputs <= len(ys); j += stretchInputs {
		multiplyStretches(f, k, w, stride, in, ys[j:], j, r0, r1)
	}
	for _, t := range k.tiles {
		for ; t.run != nil && j+t.inputs <= len(ys); j += t.inputs {
			multiplyTile(f, k, t, w, stride, in, ys, j, r0, r1)
		}
	}
	for ; j < len(ys); j++ {
		multiplyRows(f, k, w[r0*stride:], stride, in.xs[j], in.in[j], ys[j][r0:r1])
	}
}

// inputSizes returns the lengths of the inputs and of their results. It panics if
// they differ.
func inputSizes(xs, ys [][]float32) (elems, rows int) {
	if len(xs) != len(ys) {
		panic(fmt.Sprintf("linalg: %d inputs for %d results", len(xs), len(ys)))
	}
	for j := range xs {
		if len(xs[j]) != len(xs[0]) || len(ys[j]) != len(ys[0]) {
			panic(fmt.Sprintf("linalg: input %d has %d elements for %d rows; the first has %d for %d",
				j, len(xs[j]), len(ys[j]), len(xs[0]), len(ys[0])))
		}
	}
	if len(xs) > 0 {
		elems, rows = len(xs[0]), len(ys[0])
	}
	return elems, rows
}

// tile multiplies rows r0 to r1 by the inputs of a tile, from j0 on: some rows at a time,
// then what is left of them.
func multiplyTile(f *quant.Format, k *kernel, t tile, w []byte, stride int, in *Inputs, ys [][]float32, j0, r0, r1 int) {
	steps, element, offset := stepsOf(f, k, len(in.xs[j0]))
	r := r0
	for ; r+t.rows <= r1; r += t.rows {
		t.run(&w[r*stride], stride, &in.in[j0], steps, &ys[j0], r)
	}
	for j := j0; j < j0+t.inputs; j++ {
		x := in.xs[j]
		if element < len(x) {
			for i := r0; i < r; i++ {
				ys[j][i] += f.Dot(w[i*stride+offset:], x[element:])
			}
		}
		for i := r; i < r1; i++ {
			ys[j][i] = multiplyRow(f, k, w[i*stride:], x, in.in[j])
		}
	}
}
