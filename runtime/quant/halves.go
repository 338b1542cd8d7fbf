package quant

import "math"

// halfProducts says how kernels multiply a format of 32-element blocks by halves:
// element i is d·q + m for an integer q of up to magnitude. Each eight elements
// 4j…4j+3 and 16+4j…16+4j+3 make two sums of four products in halves, of the first
// two and of the last two of both fours; all else is added up in floats. A format
// without halfProducts is multiplied in floats.
//
// The integers are divided by 4·magnitude first, a power of two, so that a sum of
// four products stays in half's range whatever the inputs are.
type halfProducts struct {
	magnitude int
	unpack    func(block []byte, q *[32]int16) (d, m float32)
}

// RowsHalves is Rows for inputs x that are halves, with the roundings of kernels
// that multiply halves; see halfProducts. What they add up in floats may differ in
// the order. It is the measure of those kernels, not a fast loop. It panics as Rows
// does.
func (f *Format) RowsHalves(w []byte, stride int, x, y []float32) {
	if f.halves == nil {
		f.Rows(w, stride, x, y)
		return
	}
	rowBytes := f.checkRows(w, stride, len(x), len(y))
	for r := range y {
		row := w[r*stride : r*stride+rowBytes]
		y[r] = 0
		for i := 0; i < len(x); i, row = i+32, row[f.BlockBytes:] {
			y[r] += f.halves.block(row[:f.BlockBytes], (*[32]float32)(x[i:]))
		}
	}
}

// block is the product of one block and x.
func (p *halfProducts) block(block []byte, x *[32]float32) float32 {
	var q [32]int16
	d, m := p.unpack(block, &q)
	var products, inputs float32
	for j := 0; j < 16; j += 4 {
		products += p.four(&q, x, j) + p.four(&q, x, j+2)
	}
	for _, v := range x {
		inputs += v
	}
	return d*(products*float32(4*p.magnitude)) + m*inputs
}

// four sums the products of elements i, i+1, i+16 and i+17, rounding to half each time.
func (p *halfProducts) four(q *[32]int16, x *[32]float32, i int) float32 {
	sum, unit := 0.0, 1/float64(4*p.magnitude)
	for _, k := range [4]int{i, i + 1, i + 16, i + 17} {
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
