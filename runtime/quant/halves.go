package quant

import (
	"math"
	"slices"
)

// halfProducts says how kernels multiply a format by halves: an element of a block is
// d·q + m, with an integer q of up to magnitude and the d and m of its sub-block. The
// integers of all formats count from the middle of their range: sums of their products
// are smallest then, and with them what rounding takes.
//
// Elements are taken eight at a time: four neighbours, and the four that follow them
// apart elements later (4: all eight are neighbours). The first two of both fours make
// one sum of products in halves and the last two the other; sums of inputs, which m is
// multiplied by, are made in the same way. All else is added up in floats. A format
// without halfProducts is multiplied in floats.
//
// The integers are divided by 4·magnitude first, a power of two, so that a sum of
// four products stays in half's range whatever the inputs are. At the other end a sum
// below 2^-14 is a subnormal half, rounded by up to 2^-25: where all inputs are below
// some 2^-11, the smaller they are the more digits a result loses (4e-4 of its terms'
// root sum of squares for inputs of 1e-3, 2e-3 for 1e-4, 0.02 for 1e-5).
type halfProducts struct {
	magnitude int
	apart     int // a power of two
	// unpack decodes a block to one integer per element and one affine per sub-block.
	unpack func(block []byte, q []int16, scales []affine)
}

// subBlock is the number of elements that share d and m.
const subBlock = 32

// affine is what the integers of a sub-block are multiplied by, and what is added.
type affine struct{ d, m float32 }

// centred is d·q + m as a function of q - middle.
func centred(d, m, middle float32) affine { return affine{d, m + middle*d} }

// RowsHalves is Rows for inputs x that are halves, with the roundings of kernels
// that multiply halves; see halfProducts. What they add up in floats may differ in
// the order. It is the measure of those kernels, not a fast loop. It panics as Rows
// does.
func (f *Format) RowsHalves(w []byte, stride int, x, y []float32) {
	f.RowsHalvesMany(w, stride, [][]float32{x}, [][]float32{y})
}

// RowsHalvesMany is RowsHalves for several inputs: ys[j] has the bits that xs[j]
// gives alone. It panics as RowsMany does.
func (f *Format) RowsHalvesMany(w []byte, stride int, xs, ys [][]float32) {
	if f.halves == nil {
		f.RowsMany(w, stride, xs, ys)
		return
	}
	elems, rows := inputSizes(xs, ys)
	rowBytes := f.checkRows(w, stride, elems, rows)
	subBlocks := elems / subBlock
	q, scales, inputs := make([]int16, elems), make([]affine, subBlocks), make([]float32, len(xs)*subBlocks)
	ones := slices.Repeat([]int16{1}, subBlock)
	for i := range inputs {
		inputs[i] = f.halves.sum(ones, xs[i/subBlocks][i%subBlocks*subBlock:], 1)
	}
	for r := range rows {
		f.unpackRow(w[r*stride:r*stride+rowBytes], q, scales)
		for j, x := range xs {
			var y float32
			for s, a := range scales {
				y += a.d*f.halves.sum(q[s*subBlock:], x[s*subBlock:], f.halves.magnitude) + a.m*inputs[j*subBlocks+s]
			}
			ys[j][r] = y
		}
	}
}

// unpackRow unpacks the blocks of a row one behind the other.
func (f *Format) unpackRow(row []byte, q []int16, scales []affine) {
	n := f.BlockElems / subBlock
	for ; len(row) > 0; row, q, scales = row[f.BlockBytes:], q[f.BlockElems:], scales[n:] {
		f.halves.unpack(row[:f.BlockBytes], q[:f.BlockElems], scales[:n])
	}
}

// sum is Σ q·x over the elements of a sub-block, for integers of up to magnitude.
func (p *halfProducts) sum(q []int16, x []float32, magnitude int) float32 {
	var sum float32
	for i := 0; i < subBlock; i += 4 {
		if i&p.apart == 0 { // the first four of an eight
			sum += p.four(q, x, i, magnitude) + p.four(q, x, i+2, magnitude)
		}
	}
	return sum * float32(4*magnitude)
}

// four sums the products of elements i and i+1 and of those that lie apart from them,
// divided by 4·magnitude and rounded to half each time.
func (p *halfProducts) four(q []int16, x []float32, i, magnitude int) float32 {
	sum, unit := 0.0, 1/float64(4*magnitude)
	for _, k := range [4]int{i, i + 1, i + p.apart, i + p.apart + 1} {
		sum = roundToHalf(sum + float64(q[k])*unit*float64(x[k]))
	}
	return float32(sum)
}

// roundToHalf rounds to the nearest half, ties to even. All that it is given here is
// in half's range.
func roundToHalf(v float64) float64 {
	const lastSubnormal = 0x1p-24
	if math.Abs(v) < 0x1p-14 {
		return math.RoundToEven(v/lastSubnormal) * lastSubnormal
	}
	const cut = 52 - 10 // bits of a double's fraction that a half does not have
	bits := math.Float64bits(v)
	bits += 1<<(cut-1) - 1 + bits>>cut&1
	return math.Float64frombits(bits &^ (1<<cut - 1))
}
