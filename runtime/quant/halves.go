package quant

import "math"

// halfProducts says how kernels multiply a format's weights by halves: as integers
// of up to magnitude, eight by eight elements with one scale, each eight being two
// quads. The products of elements 0, 1 of both quads are summed in halves, and so are
// those of elements 2, 3; these two sums are then added up in floats. A format
// without halfProducts is multiplied in floats.
//
// Weights are divided by 4·magnitude first, a power of two, so that a sum of four
// products stays in half's range whatever the inputs are.
type halfProducts struct {
	magnitude int
	quads     int // elements from an eight's first quad to its second: 4 or 16
	scaled    int // elements with one scale and one minimum
	// unpack decodes a block: element i = scale[i/scaled]·q[i] - min[i/scaled].
	unpack func(block []byte, q []int16, scale, min []float32)
}

// firstQuads lists where the eights of a block begin: their first quads.
func (p *halfProducts) firstQuads(elems int) []int {
	var first []int
	for at := 0; at < elems; at += 2 * p.quads {
		for i := at; i < at+p.quads; i += 4 {
			first = append(first, i)
		}
	}
	return first
}

// RowsHalves is Rows for inputs x that are halves, with the roundings of kernels
// that multiply halves; see halfProducts. What they add up in floats may differ in
// the order. It is the measure of those kernels, not a fast loop. It panics as Rows
// does.
func (f *Format) RowsHalves(w []byte, stride int, x, y []float32) {
	p := f.halves
	if p == nil {
		f.Rows(w, stride, x, y)
		return
	}
	rowBytes := f.checkRows(w, stride, len(x), len(y))
	d := halfDot{f: f, q: make([]int16, f.BlockElems), scale: make([]float32, f.BlockElems/p.scaled), min: make([]float32, f.BlockElems/p.scaled),
		first: p.firstQuads(f.BlockElems), unit: 1 / float64(4*p.magnitude)}
	for r := range y {
		y[r] = d.row(w[r*stride:r*stride+rowBytes], x)
	}
}

// halfDot is one block at a time of a RowsHalves.
type halfDot struct {
	f          *Format
	q          []int16
	scale, min []float32
	first      []int
	unit       float64
}

func (d *halfDot) row(row []byte, x []float32) float32 {
	var sum float32
	for ; len(x) > 0; row, x = row[d.f.BlockBytes:], x[d.f.BlockElems:] {
		d.f.halves.unpack(row[:d.f.BlockBytes], d.q, d.scale, d.min)
		sum += d.block(x[:d.f.BlockElems])
	}
	return sum
}

func (d *halfDot) block(x []float32) float32 {
	var sum float32
	p := d.f.halves
	for _, a := range d.first {
		b := a + p.quads
		products := d.four(x, a, a+1, b, b+1) + d.four(x, a+2, a+3, b+2, b+3)
		var inputs float32
		for i := range 4 {
			inputs += x[a+i] + x[b+i]
		}
		s := a / p.scaled
		sum += d.scale[s]*(products*float32(4*p.magnitude)) - d.min[s]*inputs
	}
	return sum
}

// four sums the products of four elements, rounding to half after each.
func (d *halfDot) four(x []float32, i0, i1, i2, i3 int) float32 {
	sum := 0.0
	for _, i := range [4]int{i0, i1, i2, i3} {
		sum = roundToHalf(sum + float64(d.q[i])*d.unit*float64(x[i]))
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
