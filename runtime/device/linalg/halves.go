package linalg

import (
	"math"
	"slices"

	"mla/runtime/quant"
)

// RowsHalves is Rows for inputs x that are halves, with the roundings of kernels that multiply halves; see
// halfSum. It is the reference for those kernels, not a fast loop; the order of their float sums may differ.
// It panics as Rows does.
func RowsHalves(f *quant.Format, w []byte, stride int, x, y []float32) {
	RowsHalvesMany(f, w, stride, [][]float32{x}, [][]float32{y})
}

// RowsHalvesMany is RowsHalves for several inputs: ys[j] has the bits of RowsHalves for xs[j]. It panics as
// RowsMany does.
func RowsHalvesMany(f *quant.Format, w []byte, stride int, xs, ys [][]float32) {
	if f.Halves == nil {
		RowsMany(f, w, stride, xs, ys)
		return
	}
	elems, rows := inputSizes(xs, ys)
	rowBytes := checkRows(f, w, stride, elems, rows)
	size := f.Halves.SubBlock
	subBlocks := elems / size
	q, scales, inputs := make([]int16, elems), make([]quant.Affine, subBlocks), make([]float32, len(xs)*subBlocks)
	ones := slices.Repeat([]int16{1}, size)
	for i := range inputs {
		inputs[i] = halfSum(f.Halves, ones, xs[i/subBlocks][i%subBlocks*size:], 1)
	}
	for r := range rows {
		f.UnpackHalves(w[r*stride:r*stride+rowBytes], q, scales)
		for j, x := range xs {
			var y float32
			for s, a := range scales {
				y += a.D*halfSum(f.Halves, q[s*size:], x[s*size:], f.Halves.Magnitude) + a.M*inputs[j*subBlocks+s]
			}
			ys[j][r] = y
		}
	}
}

// halfSum is Σ q·x over the elements of a sub-block, where |q| is at most magnitude.
func halfSum(p *quant.HalfProducts, q []int16, x []float32, magnitude int) float32 {
	var sum float32
	for i := 0; i < p.SubBlock; i += 4 {
		if i&p.Apart == 0 { // the first four of eight elements
			sum += halfFour(p, q, x, i, magnitude) + halfFour(p, q, x, i+2, magnitude)
		}
	}
	return sum * float32(4*magnitude)
}

// halfFour sums the products of elements i and i+1 and of the two elements p.Apart further on, each divided
// by 4·magnitude. Each partial sum is rounded to half.
func halfFour(p *quant.HalfProducts, q []int16, x []float32, i, magnitude int) float32 {
	sum, unit := 0.0, 1/float64(4*magnitude)
	for _, k := range [4]int{i, i + 1, i + p.Apart, i + p.Apart + 1} {
		sum = roundToHalf(sum + float64(q[k])*unit*float64(x[k]))
	}
	return float32(sum)
}

// roundToHalf rounds to the nearest half, ties to even. Callers pass numbers in half's range only.
func roundToHalf(v float64) float64 {
	const lastSubnormal = 0x1p-24
	if math.Abs(v) < 0x1p-14 {
		return math.RoundToEven(v/lastSubnormal) * lastSubnormal
	}
	const cut = 52 - 10 // bits of a float64's fraction that a half does not have
	bits := math.Float64bits(v)
	bits += 1<<(cut-1) - 1 + bits>>cut&1
	return math.Float64frombits(bits &^ (1<<cut - 1))
}
