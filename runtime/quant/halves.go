package quant

// HalfProducts describes the multiplication of a format in halves (Halves) by kernels. An element of a block
// is d·q + m, with an integer q of magnitude up to Magnitude and the d and m of its sub-block. The integers
// of all formats are centred at 0, which makes sums of their products, and their rounding errors, smallest.
//
// Elements are taken eight at a time: four neighbours, and the four neighbours that come Apart elements later
// (Apart 4: all eight are neighbours). The first two of both fours form one sum of products in halves, the
// last two another one. Sums of inputs, which m multiplies, are computed the same way. Everything else is
// added in floats. A format without HalfProducts is multiplied in floats.
//
// The integers are first divided by 4·Magnitude, a power of two, so that a sum of four products stays in
// half's range for any inputs. On the other side, a sum below 2^-14 is a subnormal half and rounded by up to
// 2^-25. So if all inputs are below about 2^-11, smaller inputs lose more digits (4e-4 of the root sum of
// squares of the terms for inputs of 1e-3, 2e-3 for 1e-4, 0.02 for 1e-5).
type HalfProducts struct {
	Magnitude int
	Apart     int // a power of two
	SubBlock  int // elements that share d and m: a multiple of 8, and of 2·Apart
	// Unpack decodes a block to one integer per element and one Affine per sub-block.
	Unpack func(block []byte, q []int16, scales []Affine)
}

// Affine is the factor of a sub-block's integers, and the term that is added.
type Affine struct{ D, M float32 }

// centred is d·q + m as a function of q - middle.
func centred(d, m, middle float32) Affine { return Affine{d, m + middle*d} }

// UnpackHalves unpacks all blocks of a row of a format with Halves.
func (f *Format) UnpackHalves(row []byte, q []int16, scales []Affine) {
	n := f.BlockElems / f.Halves.SubBlock
	for ; len(row) > 0; row, q, scales = row[f.BlockBytes:], q[f.BlockElems:], scales[n:] {
		f.Halves.Unpack(row[:f.BlockBytes], q[:f.BlockElems], scales[:n])
	}
}
