package quant

import "encoding/binary"

// formatIQ3_XXS is IQ3_XXS: 256 elements in 98 bytes, 8 sub-blocks of 32, groups of 4.
//
//	d      half       scale of the scales
//	qs     [64]byte   per group: entry of the code book
//	signs  [8]uint32  per sub-block: bits 7l…7l+6: signs of groups 2l and 2l+1, see evenSigns;
//	                  bits 28–31: scale s
//
// element = d/4·(2s+1)·±value
var formatIQ3_XXS = Format{
	Type: IQ3_XXS, Name: "iq3_xxs", BlockElems: SuperBlock, BlockBytes: iq3_XXSBytes,
	Dequantize: dequantizeIQ3_XXS, Quantize: quantizeIQ3_XXS, Dot: dotIQ3_XXS, Book: iq3_XXSBook,
	Halves: &HalfProducts{Magnitude: 64, Apart: 4, SubBlock: 32, Unpack: unpackIQ3_XXS},
}

const (
	iq3_XXSBytes = 98
	iq3_XXSSigns = 66 // offset of signs
	iq3_XXSUnit  = 0.25
)

var iq3_XXSBook = newCodeBook("iq3_xxs", 4, []int8{4, 12, 20, 28, 36, 44, 52, 62}, iq3_XXSCodes[:])

// eight joins two entries of a code book of four values to one of eight.
func (b *CodeBook) eight(first, second int) uint64 { return b.values[first] | b.values[second]<<32 }

func dequantizeIQ3_XXS(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[SuperBlock:], src[iq3_XXSBytes:] {
		d := halfAt(src) * iq3_XXSUnit
		for s := range 8 {
			signs := binary.LittleEndian.Uint32(src[iq3_XXSSigns+4*s:])
			scale := d * float32(signs>>28*2+1)
			for l := range 4 {
				g := 4*s + l // of eight
				values := iq3_XXSBook.eight(int(src[2+2*g]), int(src[3+2*g]))
				unpackSigned(dst[8*g:8*g+8], values, evenSigns(signs>>(7*l)), scale)
			}
		}
	}
}

func unpackIQ3_XXS(block []byte, q []int16, scales []Affine) {
	d := halfAt(block) * iq3_XXSUnit
	for s := range scales {
		signs := binary.LittleEndian.Uint32(block[iq3_XXSSigns+4*s:])
		for l := range 4 {
			g := 4*s + l
			signedIntegers(q[8*g:], iq3_XXSBook.eight(int(block[2+2*g]), int(block[3+2*g])), evenSigns(signs>>(7*l)))
		}
		scales[s] = Affine{D: d * float32(signs>>28*2+1)}
	}
}

func quantizeIQ3_XXS(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[iq3_XXSBytes:], src[SuperBlock:] {
		d, codes := oddScales(dst, iq3_XXSUnit, 62, 15, 32, src[:SuperBlock])
		for s := range 8 {
			packed := uint32(codes[s]) << 28
			for l := range 4 {
				g := 4*s + l
				entries, signs := encodeSigned(iq3_XXSBook, src[8*g:8*g+8], d*float32(2*codes[s]+1), true)
				dst[2+2*g], dst[3+2*g] = byte(entries[0]), byte(entries[1])
				packed |= uint32(signs&127) << (7 * l)
			}
			binary.LittleEndian.PutUint32(dst[iq3_XXSSigns+4*s:], packed)
		}
	}
}

func dotIQ3_XXS(row []byte, x []float32) float32 {
	var w [SuperBlock]float32
	var sum float32
	for ; len(x) > 0; row, x = row[iq3_XXSBytes:], x[SuperBlock:] {
		dequantizeIQ3_XXS(w[:], row)
		sum += DotFloats(w[:], x[:SuperBlock])
	}
	return sum
}
