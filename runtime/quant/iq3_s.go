package quant

// formatIQ3_S is IQ3_S: 256 elements in 110 bytes, 8 sub-blocks of 32, groups of 4.
//
//	d       half      scale of the scales
//	qs      [64]byte  per group: lower eight bits of the entry of the code book
//	qh      [8]byte   bit j of byte s: upper bit of the entry of group 8s+j
//	signs   [32]byte  bit i of byte g: element 8g+i is negative
//	scales  [4]byte   nibble s: scale s of sub-block s
//
// element = d·(2s+1)·±value
var formatIQ3_S = Format{
	Type: IQ3_S, Name: "iq3_s", BlockElems: SuperBlock, BlockBytes: iq3_SBytes,
	Dequantize: dequantizeIQ3_S, Quantize: quantizeIQ3_S, Dot: dotIQ3_S, Book: iq3_SBook,
	Halves: &HalfProducts{Magnitude: 16, Apart: 4, SubBlock: 32, Unpack: unpackIQ3_S},
}

const (
	iq3_SBytes  = 110
	iq3_SHigh   = 66  // offset of qh
	iq3_SSigns  = 74  // offset of signs
	iq3_SScales = 106 // offset of scales
)

var iq3_SBook = newCodeBook("iq3_s", 4, []int8{1, 3, 5, 7, 9, 11, 13, 15}, iq3_SCodes[:])

func dequantizeIQ3_S(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[SuperBlock:], src[iq3_SBytes:] {
		d := halfAt(src)
		for s := range 8 {
			scale, high := d*float32(nibbleOf(src[iq3_SScales:], s)*2+1), int(src[iq3_SHigh+s])
			for l := range 4 {
				g := 4*s + l // of eight
				first, second := int(src[2+2*g])|high>>(2*l)&1<<8, int(src[3+2*g])|high>>(2*l+1)&1<<8
				unpackSigned(dst[8*g:8*g+8], iq3_SBook.eight(first, second), src[iq3_SSigns+g], scale)
			}
		}
	}
}

func unpackIQ3_S(block []byte, q []int16, scales []Affine) {
	d := halfAt(block)
	for g := range SuperBlock / 8 {
		high := int(block[iq3_SHigh+g/4]) >> (g % 4 * 2)
		values := iq3_SBook.eight(int(block[2+2*g])|high&1<<8, int(block[3+2*g])|high>>1&1<<8)
		signedIntegers(q[8*g:], values, block[iq3_SSigns+g])
	}
	for s := range scales {
		scales[s] = Affine{D: d * float32(nibbleOf(block[iq3_SScales:], s)*2+1)}
	}
}

func quantizeIQ3_S(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[iq3_SBytes:], src[SuperBlock:] {
		d, codes := oddScales(dst, 1, 15, 15, 32, src[:SuperBlock])
		clear(dst[iq3_SHigh:iq3_SBytes])
		for s := range 8 {
			putNibble(dst[iq3_SScales:], s, codes[s])
			for l := range 4 {
				g := 4*s + l
				entries, signs := encodeSigned(iq3_SBook, src[8*g:8*g+8], d*float32(2*codes[s]+1), false)
				dst[iq3_SSigns+g] = signs
				for i, entry := range entries {
					dst[2+2*g+i] = byte(entry)
					dst[iq3_SHigh+s] |= byte(entry >> 8 << (2*l + i))
				}
			}
		}
	}
}

func dotIQ3_S(row []byte, x []float32) float32 {
	var w [SuperBlock]float32
	var sum float32
	for ; len(x) > 0; row, x = row[iq3_SBytes:], x[SuperBlock:] {
		dequantizeIQ3_S(w[:], row)
		sum += DotFloats(w[:], x[:SuperBlock])
	}
	return sum
}
