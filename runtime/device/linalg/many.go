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

// tileFunc computes ys[j][row+r] = Σ row_r·xs[j] over steps·step elements, for the rows and inputs of a tile.
// Row r starts at w + r·stride bytes; xs and ys point to the first input and the first result. The bits of a
// sum are those of the rowFunc.
type tileFunc func(w *byte, stride int, xs *[]float32, steps int, ys *[]float32, row int)

// RowsMany is Rows for several inputs: it computes ys[j][r] = Σ row_r·xs[j], with the bits of Rows for xs[j].
// It panics unless all of xs have the same length, and all of ys, and where Rows panics.
func RowsMany(f *quant.Format, w []byte, stride int, xs, ys [][]float32) {
	elems, rows := inputSizes(xs, ys)
	checkRows(f, w, stride, elems, rows)
	in := takeInputs()
	in.Set(f, xs)
	Product(f, w, stride, in, ys)
	in.release()
}

// Product computes ys[j][r] = Σ row_r·x_j, for rows as in Rows and any number of inputs that were Set for
// this format. In assembly, a weight is decoded once for up to four inputs, or once for all of many inputs.
// The bits of ys[j][r] depend only on the row and x_j: they are those of Rows. With a library (SetLibrary)
// the bits differ. Product panics where RowsMany does.
func Product(f *quant.Format, w []byte, stride int, in *Inputs, ys [][]float32) {
	elems, rows := inputSizes(in.xs, ys)
	checkRows(f, w, stride, elems, rows)
	k := in.kernel(f)
	if in.lib != nil && rows > 0 {
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
	block := blockRows
	if len(ys) == 1 {
		block = rows // with one input no row is read again, so blocks gain nothing
	}
	if format.decode != nil {
		block = panelBlockRows(elems)
	}
	for r := 0; r < rows; r += block {
		if format.decode != nil {
			multiplyPanel(f, panels, format, &k, w, stride, in, ys, r, min(r+block, rows))
		} else {
			multiplyTiles(f, &k, w, stride, in, ys, r, min(r+block, rows))
		}
	}
}

// blockRows is the number of rows that are multiplied by all inputs before the next rows are read. They fit
// the L1 cache.
const blockRows = 32

// multiplyTiles multiplies rows r0 to r1 by all inputs. Inputs have at least one step.
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

// inputSizes returns the length of the inputs and of their results. It panics if the lengths differ.
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

// multiplyTile multiplies rows r0 to r1 by the inputs of a tile, which begin at j0. Rows that do not fill a
// tile are multiplied one by one.
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
