package quant

import "encoding/binary"

// formatIQ2_XS is IQ2_XS: 256 elements in 74 bytes, 16 sub-blocks of 16, groups of 8.
//
//	d       half        scale of the scales
//	qs      [32]uint16  per group: bits 0–8: entry of the code book, 9–15: signs, see evenSigns
//	scales  [8]byte     nibble s: scale s of sub-block s
//
// element = d/8·(2s+1)·±value
var formatIQ2_XS = Format{
	Type: IQ2_XS, Name: "iq2_xs", BlockElems: SuperBlock, BlockBytes: iq2_XSBytes,
	Dequantize: dequantizeIQ2_XS, Quantize: quantizeIQ2_XS, Dot: dotIQ2_XS, Book: iq2_XSBook,
	Halves: &HalfProducts{Magnitude: 64, Apart: 4, SubBlock: 16, Unpack: unpackIQ2_XS},
}

const (
	iq2_XSBytes  = 74
	iq2_XSScales = 66 // offset of scales
)

var iq2_XSBook = newCodeBook("iq2_xs", 8, iq2Levels, iq2_XSCodes[:])

func dequantizeIQ2_XS(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[SuperBlock:], src[iq2_XSBytes:] {
		d := halfAt(src) * iq2Unit
		for s := range 16 {
			scale := d * float32(nibbleOf(src[iq2_XSScales:], s)*2+1)
			for g := 2 * s; g < 2*s+2; g++ {
				q := uint32(binary.LittleEndian.Uint16(src[2+2*g:]))
				unpackSigned(dst[8*g:8*g+8], iq2_XSBook.values[q&511], evenSigns(q>>9), scale)
			}
		}
	}
}

// nibbleOf is nibble i of b; of a byte, the low nibble comes first.
func nibbleOf(b []byte, i int) uint8 { return b[i/2] >> (i % 2 * 4) & 15 }

// putNibble sets nibble i of b, which must be 0 before.
func putNibble(b []byte, i, v int) { b[i/2] |= byte(v << (i % 2 * 4)) }

func unpackIQ2_XS(block []byte, q []int16, scales []Affine) {
	d := halfAt(block) * iq2Unit
	for g := range SuperBlock / 8 {
		code := uint32(binary.LittleEndian.Uint16(block[2+2*g:]))
		signedIntegers(q[8*g:], iq2_XSBook.values[code&511], evenSigns(code>>9))
	}
	for s := range scales {
		scales[s] = Affine{D: d * float32(nibbleOf(block[iq2_XSScales:], s)*2+1)}
	}
}

func quantizeIQ2_XS(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[iq2_XSBytes:], src[SuperBlock:] {
		d, codes := oddScales(dst, iq2Unit, 43, 15, 16, src[:SuperBlock])
		clear(dst[iq2_XSScales:iq2_XSBytes])
		for s, code := range codes {
			putNibble(dst[iq2_XSScales:], s, code)
			for g := 2 * s; g < 2*s+2; g++ {
				entries, signs := encodeSigned(iq2_XSBook, src[8*g:8*g+8], d*float32(2*code+1), true)
				binary.LittleEndian.PutUint16(dst[2+2*g:], uint16(entries[0])|uint16(signs)<<9)
			}
		}
	}
}

func dotIQ2_XS(row []byte, x []float32) float32 {
	var w [SuperBlock]float32
	var sum float32
	for ; len(x) > 0; row, x = row[iq2_XSBytes:], x[SuperBlock:] {
		dequantizeIQ2_XS(w[:], row)
		sum += DotFloats(w[:], x[:SuperBlock])
	}
	return sum
}
