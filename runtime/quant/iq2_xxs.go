package quant

import "encoding/binary"

// formatIQ2_XXS is IQ2_XXS: 256 elements in 66 bytes, 8 sub-blocks of 32, groups of 8.
//
//	d   half          scale of the scales
//	qs  [8]{          per sub-block
//	      [4]byte     entries of the code book
//	      uint32      bits 7l…7l+6: signs of group l, see evenSigns; bits 28–31: scale s
//	    }
//
// element = d/8·(2s+1)·±value
var formatIQ2_XXS = Format{
	Type: IQ2_XXS, Name: "iq2_xxs", BlockElems: SuperBlock, BlockBytes: iq2_XXSBytes,
	Dequantize: dequantizeIQ2_XXS, Quantize: quantizeIQ2_XXS, Dot: dotIQ2_XXS, Book: iq2_XXSBook,
	Halves: &HalfProducts{Magnitude: 64, Apart: 4, SubBlock: 32, Unpack: unpackIQ2_XXS},
}

const iq2_XXSBytes = 66

// iq2Levels is the magnitudes of IQ2_XXS, IQ2_XS and IQ2_S. iq2Unit is the factor of their scales, which are
// odd numbers.
var iq2Levels = []int8{8, 25, 43}

const iq2Unit = 0.125

var iq2_XXSBook = newCodeBook("iq2_xxs", 8, iq2Levels, iq2_XXSCodes[:])

func dequantizeIQ2_XXS(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[SuperBlock:], src[iq2_XXSBytes:] {
		d := halfAt(src) * iq2Unit
		for s := range 8 {
			qs := src[2+8*s : 10+8*s]
			signs := binary.LittleEndian.Uint32(qs[4:])
			scale := d * float32(signs>>28*2+1)
			for l := range 4 {
				at := 32*s + 8*l
				unpackSigned(dst[at:at+8], iq2_XXSBook.values[qs[l]], evenSigns(signs>>(7*l)), scale)
			}
		}
	}
}

func unpackIQ2_XXS(block []byte, q []int16, scales []Affine) {
	d := halfAt(block) * iq2Unit
	for s := range scales {
		qs := block[2+8*s : 10+8*s]
		signs := binary.LittleEndian.Uint32(qs[4:])
		for l := range 4 {
			signedIntegers(q[32*s+8*l:], iq2_XXSBook.values[qs[l]], evenSigns(signs>>(7*l)))
		}
		scales[s] = Affine{D: d * float32(signs>>28*2+1)}
	}
}

func quantizeIQ2_XXS(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[iq2_XXSBytes:], src[SuperBlock:] {
		d, codes := oddScales(dst, iq2Unit, 43, 15, 32, src[:SuperBlock])
		for s := range 8 {
			packed := uint32(codes[s]) << 28
			for l := range 4 {
				at := 32*s + 8*l
				entries, signs := encodeSigned(iq2_XXSBook, src[at:at+8], d*float32(2*codes[s]+1), true)
				dst[2+8*s+l] = byte(entries[0])
				packed |= uint32(signs&127) << (7 * l)
			}
			binary.LittleEndian.PutUint32(dst[6+8*s:], packed)
		}
	}
}

func dotIQ2_XXS(row []byte, x []float32) float32 {
	var w [SuperBlock]float32
	var sum float32
	for ; len(x) > 0; row, x = row[iq2_XXSBytes:], x[SuperBlock:] {
		dequantizeIQ2_XXS(w[:], row)
		sum += DotFloats(w[:], x[:SuperBlock])
	}
	return sum
}
