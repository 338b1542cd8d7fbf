package linalg

import (
	"math"
	"math/bits"
	"slices"

	"mla/runtime/quant"
)

// Look-up tables of floats for the assembly of several instruction sets. They are built here from the tables
// of package quant; as assembly data they would be most of its text. An entry of floats takes one load. As
// bytes it takes two more instructions, a quarter of the work for eight weights.
var (
	bookIQ2_XXS [256 * 8]float32
	bookIQ2_XS  [512 * 8]float32
	bookIQ2_S   [1024 * 8]float32
	bookIQ3_XXS [256 * 4]float32
	bookIQ3_S   [512 * 4]float32
	bookIQ1     [2048 * 8]float32

	// The same tables as bytes, eight or four per entry. Loops read up to 16 bytes before and after an entry.
	// The entries of IQ1 are eight times the values, plus 17.
	byteBookIQ2_XXS [2*256 + 8]uint32
	byteBookIQ2_XS  [2*512 + 8]uint32
	byteBookIQ2_S   [2*1024 + 8]uint32
	byteBookIQ3_XXS [256 + 8]uint32
	byteBookIQ3_S   [512 + 8]uint32
	byteBookIQ1     [2*2048 + 8]uint32

	// Masks that negate some of eight floats by exclusive or: bit i of the index is the sign of float i. The
	// index of evenSigns has seven bits; the eighth makes the number of ones even.
	evenSigns [128 * 8]uint32
	allSigns  [256 * 8]uint32
	// The same as factors of eight bytes.
	evenSignBytes [128 * 8]int8
	allSignBytes  [256 * 8]int8

	powersOfTwo [256]float32 // the scales of MXFP4
	nvfp4Scales [256]float32
)

func init() {
	for t, to := range map[quant.Type]struct {
		floats []float32
		bytes  []uint32
	}{
		quant.IQ2_XXS: {bookIQ2_XXS[:], byteBookIQ2_XXS[:]}, quant.IQ2_XS: {bookIQ2_XS[:], byteBookIQ2_XS[:]},
		quant.IQ2_S: {bookIQ2_S[:], byteBookIQ2_S[:]}, quant.IQ3_XXS: {bookIQ3_XXS[:], byteBookIQ3_XXS[:]},
		quant.IQ3_S: {bookIQ3_S[:], byteBookIQ3_S[:]}, quant.IQ1_S: {bookIQ1[:], byteBookIQ1[:]},
	} {
		f, _ := quant.Lookup(t)
		for i, entry := range f.Book.Values() {
			for j := range f.Book.Group {
				value, at := int8(entry>>(8*j)), f.Book.Group*i+j
				to.floats[at] = float32(value)
				if t == quant.IQ1_S {
					value = 8*value + 17
				}
				to.bytes[4+at/4] |= uint32(uint8(value)) << (8 * (at % 4))
			}
		}
	}
	for i := range allSigns {
		allSigns[i] = uint32(i/8>>(i%8)&1) << 31
		allSignBytes[i] = 1 - int8(allSigns[i]>>31)*2
	}
	for i := range evenSigns {
		number := uint(i / 8)
		number |= uint(bits.OnesCount(number)) % 2 << 7
		evenSigns[i] = uint32(number>>(i%8)&1) << 31
		evenSignBytes[i] = 1 - int8(evenSigns[i]>>31)*2
	}
	for e := range powersOfTwo {
		powersOfTwo[e] = float32(math.Ldexp(1, e-128))
		// A block with scale e whose first element has a code that stands for 1.
		block := slices.Concat([]byte{byte(e), 0, 0, 0, 1}, make([]byte, 31))
		var w [64]float32
		f, _ := quant.Lookup(quant.NVFP4)
		f.Dequantize(w[:], block)
		nvfp4Scales[e] = w[0]
	}
}
