package quant

// HalfProducts says how kernels multiply a format by Halves: an element of a block is
// d·q + m, with an integer q of up to Magnitude and the d and m of its sub-block. The
// integers of all formats count from the middle of their range: sums of their products
// are smallest then, and with them what rounding takes.
//
// Elements are taken eight at a time: four neighbours, and the four that follow them
// Apart elements later (4: all eight are neighbours). The first two of both fours make
// one sum of products in halves and the last two the other; sums of inputs, which m is
// multiplied by, are made in the same way. All else is added up in floats. A format
// without HalfProducts is multiplied in floats.
//
// The integers are divided by 4·Magnitude first, a power of two, so that a sum of
// four products stays in half's range whatever the inputs are. At the other end a sum
// below 2^-14 is a subnormal half, rounded by up to 2^-25: where all inputs are below
// some 2^-11, the smaller they are the more digits a result loses (4e-4 of its terms'
// root sum of squares for inputs of 1e-3, 2e-3 for 1e-4, 0.02 for 1e-5).
type HalfProducts struct {
	Magnitude int
	Apart     int // a power of two
	SubBlock  int // elements that share d and m: a multiple of 8, and of 2·Apart
	// Unpack decodes a block to one integer per element and one Affine per sub-block.
	Unpack func(block []byte, q []int16, scales []Affine)
}

// Affine is what the integers of a sub-block are multiplied by, and what is added.
type Affine struct{ D, M float32 }

// centred is d·q + m as a function of q - middle.
func centred(d, m, middle float32) Affine { return Affine{d, m + middle*d} }

// UnpackHalves unpacks the blocks of a row of a format with Halves one after the other.
func (f *Format) UnpackHalves(row []byte, q []int16, scales []Affine) {
	n := f.BlockElems / f.Halves.SubBlock
	for ; len(row) > 0; row, q, scales = row[f.BlockBytes:], q[f.BlockElems:], scales[n:] {
		f.Halves.Unpack(row[:f.BlockBytes], q[:f.BlockElems], scales[:n])
	}
}
