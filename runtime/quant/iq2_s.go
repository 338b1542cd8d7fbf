package quant

// formatIQ2_S is IQ2_S: 256 elements in 82 bytes, 16 sub-blocks of 16, groups of 8.
//
//	d       half      scale of the scales
//	qs      [32]byte  per group: lower eight bits of the entry of the code book
//	signs   [32]byte  per group: bit i for a negative value i
//	qh      [8]byte   bits 2l and 2l+1 of byte k: upper bits of the entry of group 4k+l
//	scales  [8]byte   nibble s: scale s of sub-block s
//
// element = d/8·(2s+1)·±value
var formatIQ2_S = Format{
	Type: IQ2_S, Name: "iq2_s", BlockElems: SuperBlock, BlockBytes: iq2_SBytes,
	Dequantize: dequantizeIQ2_S, Quantize: quantizeIQ2_S, Dot: dotIQ2_S, Book: iq2_SBook,
	Halves: &HalfProducts{Magnitude: 64, Apart: 4, SubBlock: 16, Unpack: unpackIQ2_S},
}

const (
	iq2_SBytes  = 82
	iq2_SSigns  = 34 // offset of signs
	iq2_SHigh   = 66 // offset of qh
	iq2_SScales = 74 // offset of scales
)

var iq2_SBook = newCodeBook("iq2_s", 8, iq2Levels, iq2_SCodes[:])

func dequantizeIQ2_S(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[SuperBlock:], src[iq2_SBytes:] {
		d := halfAt(src) * iq2Unit
		for s := range 16 {
			scale := d * float32(nibbleOf(src[iq2_SScales:], s)*2+1)
			for g := 2 * s; g < 2*s+2; g++ {
				entry := int(src[2+g]) | int(src[iq2_SHigh+g/4]>>(g%4*2)&3)<<8
				unpackSigned(dst[8*g:8*g+8], iq2_SBook.values[entry], src[iq2_SSigns+g], scale)
			}
		}
	}
}

func unpackIQ2_S(block []byte, q []int16, scales []Affine) {
	d := halfAt(block) * iq2Unit
	for g := range SuperBlock / 8 {
		entry := int(block[2+g]) | int(block[iq2_SHigh+g/4]>>(g%4*2)&3)<<8
		signedIntegers(q[8*g:], iq2_SBook.values[entry], block[iq2_SSigns+g])
	}
	for s := range scales {
		scales[s] = Affine{D: d * float32(nibbleOf(block[iq2_SScales:], s)*2+1)}
	}
}

func quantizeIQ2_S(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[iq2_SBytes:], src[SuperBlock:] {
		d, codes := oddScales(dst, iq2Unit, 43, 15, 16, src[:SuperBlock])
		clear(dst[iq2_SHigh:iq2_SBytes])
		for s, code := range codes {
			putNibble(dst[iq2_SScales:], s, code)
			for g := 2 * s; g < 2*s+2; g++ {
				entries, signs := encodeSigned(iq2_SBook, src[8*g:8*g+8], d*float32(2*code+1), false)
				dst[2+g], dst[iq2_SSigns+g] = byte(entries[0]), signs
				dst[iq2_SHigh+g/4] |= byte(entries[0] >> 8 << (g % 4 * 2))
			}
		}
	}
}

func dotIQ2_S(row []byte, x []float32) float32 {
	var w [SuperBlock]float32
	var sum float32
	for ; len(x) > 0; row, x = row[iq2_SBytes:], x[SuperBlock:] {
		dequantizeIQ2_S(w[:], row)
		sum += DotFloats(w[:], x[:SuperBlock])
	}
	return sum
}
