package quant

import "fmt"

// tile is a number of rows and inputs that a tileFunc multiplies at once.
type tile struct{ rows, inputs int }

// tileFunc computes ys[j][row+r] = Σ row_r·xs[j] over steps·step elements for the
// rows and inputs of a tile, where row r starts at w + r·stride bytes and xs and ys
// point to the first of the inputs and of the results. The bits of a sum are those
// of the rowFunc.
type tileFunc func(w *byte, stride int, xs *[]float32, steps int, ys *[]float32, row int)

// RowsMany is Rows for several inputs: it computes ys[j][r] = Σ row_r·xs[j], with
// the bits that Rows gives for xs[j] alone. In assembly a weight is decoded once for
// four inputs. All of xs must be as long as the first, and so must ys; otherwise RowsMany
// panics, and where Rows does.
func (f *Format) RowsMany(w []byte, stride int, xs, ys [][]float32) {
	elems, rows := inputSizes(xs, ys)
	f.checkRows(w, stride, elems, rows)
	b := active.Load()
	k := b.kernels[f.Type]
	for i, t := range b.tiles {
		if k.tiles[i] == nil || elems < k.step || rows == 0 {
			break
		}
		for ; len(xs) >= t.inputs; xs, ys = xs[t.inputs:], ys[t.inputs:] {
			ins, memory := b.prepare(&k, xs[:t.inputs])
			f.tileRows(&k, k.tiles[i], t.rows, w, stride, xs[:t.inputs], ins, ys[:t.inputs])
			memory.release()
		}
	}
	for j, x := range xs {
		f.Rows(w, stride, x, ys[j])
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

// tileRows multiplies all rows by the inputs of a tile, which are of at least one
// step, some rows at a time and what is left of them one by one; ins are xs as k takes
// them.
func (f *Format) tileRows(k *kernel, run tileFunc, some int, w []byte, stride int, xs, ins, ys [][]float32) {
	elems, rows := len(xs[0]), len(ys[0])
	steps, element, offset := f.split(k, elems)
	r := 0
	for ; r+some <= rows; r += some {
		run(&w[r*stride], stride, &ins[0], steps, &ys[0], r)
	}
	for j, x := range xs {
		if element < elems {
			for i := range r {
				ys[j][i] += f.Dot(w[i*stride+offset:], x[element:])
			}
		}
		for i := r; i < rows; i++ {
			ys[j][i] = f.row(k, w[i*stride:], x, ins[j])
		}
	}
}
