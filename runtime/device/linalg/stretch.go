package linalg

import "mla/runtime/quant"

// stretchFunc adds Σ row_r·x_j over steps·step elements to the lanes of the sums, for stretchRows rows and
// stretchInputs inputs. A sum has eight lanes. Row r starts at w + r·stride bytes, and x_j offset bytes after
// the start of xs[j].
type stretchFunc func(w *byte, stride int, xs *[]float32, offset, steps int, sums *float32)

// sumFunc adds up the lanes of the sums of n rows, and leaves n times stretchInputs floats.
type sumFunc func(sums *float32, n int)

// stretchLoops is the stretch functions of a format.
type stretchLoops struct {
	add stretchFunc
	sum sumFunc
}

const (
	stretchRows, stretchInputs = 2, 4
	stretchLanes               = 8
	// stretchElems is how many elements of the inputs are multiplied by blockRows rows before the next
	// elements. They stay in the L1 cache.
	stretchElems = 1024
)

// multiplyStretches multiplies rows r0 to r1, at most blockRows, by stretchInputs inputs from j0 on. The bits
// of a sum are those of the rowFunc, as the lanes are the same.
func multiplyStretches(f *quant.Format, k *kernel, w []byte, stride int, in *Inputs, ys [][]float32, j0, r0, r1 int) {
	steps, element, offset := stepsOf(f, k, len(in.xs[j0]))
	xStep, wStep := 4*k.step, k.step/f.BlockElems*f.BlockBytes
	if k.arranged != nil {
		xStep = 4 * k.arranged.size(k.step)
	}
	in.grow(0, blockRows*stretchInputs*stretchLanes)
	end := r1 - (r1-r0)%stretchRows
	clear(in.sums[:(end-r0)*stretchInputs*stretchLanes])
	for at := 0; at < steps; at += stretchElems / k.step {
		n := min(steps-at, stretchElems/k.step)
		for r := r0; r < end; r += stretchRows {
			k.stretch.add(&w[r*stride+at*wStep], stride, &in.in[j0], at*xStep, n, &in.sums[(r-r0)*stretchInputs*stretchLanes])
		}
	}
	if end > r0 {
		k.stretch.sum(&in.sums[0], end-r0)
	}
	for j := range stretchInputs {
		for r := r0; r < end; r++ {
			ys[j][r] = in.sums[(r-r0)*stretchInputs+j]
		}
	}
	for j := range stretchInputs {
		x := in.xs[j0+j]
		if element < len(x) {
			for r := r0; r < end; r++ {
				ys[j][r] += f.Dot(w[r*stride+offset:], x[element:])
			}
		}
		for r := end; r < r1; r++ {
			ys[j][r] = multiplyRow(f, k, w[r*stride:], x, in.in[j0+j])
		}
	}
}
