package quant

import "encoding/binary"

// formatIQ1_M is IQ1_M: 256 elements in 56 bytes, 16 sub-blocks of 16, groups of 8 with the code book of IQ1_S.
//
//	qs      [32]byte   per group: lower eight bits of the entry of the code book
//	qh      [16]byte   nibble g: upper three bits of the entry of group g, and the sign of its shift
//	scales  [4]uint16  bits 3i…3i+2 of word k: scale s of sub-block 4k+i; bits 12–15: bits 4k and up
//	                   of the half d
//
// element = d·(2s+1)·(value ± 1/8)
var formatIQ1_M = Format{
	Type: IQ1_M, Name: "iq1_m", BlockElems: SuperBlock, BlockBytes: iq1_MBytes,
	Dequantize: dequantizeIQ1_M, Quantize: quantizeIQ1_M, Dot: dotIQ1_M, Book: iq1Book,
	Halves: &HalfProducts{Magnitude: 1, Apart: 4, SubBlock: 8, Unpack: unpackIQ1_M},
}

const (
	iq1_MBytes  = 56
	iq1_MHigh   = 32 // offset of qh
	iq1_MScales = 48 // offset of scales
)

func dequantizeIQ1_M(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[SuperBlock:], src[iq1_MBytes:] {
		packed := binary.LittleEndian.Uint64(src[iq1_MScales:])
		d := scaleIQ1_M(packed)
		for s := range 16 {
			scale := d * float32(packed>>(s/4*16+s%4*3)&7*2+1)
			for g := 2 * s; g < 2*s+2; g++ {
				high := int(nibbleOf(src[iq1_MHigh:], g))
				unpackShifted(dst[8*g:8*g+8], int(src[g])|high&7<<8, high>>3, scale)
			}
		}
	}
}

func unpackIQ1_M(block []byte, q []int16, scales []Affine) {
	packed := binary.LittleEndian.Uint64(block[iq1_MScales:])
	d := scaleIQ1_M(packed)
	for g := range scales {
		high, s := int(nibbleOf(block[iq1_MHigh:], g)), g/2
		signedIntegers(q[8*g:], iq1Book.values[int(block[g])|high&7<<8], 0)
		scales[g] = shifted(d*float32(packed>>(s/4*16+s%4*3)&7*2+1), high>>3)
	}
}

// scaleIQ1_M is the scale d of a block.
func scaleIQ1_M(packed uint64) float32 {
	return HalfToFloat(uint16(packed>>12&0xf | packed>>24&0xf0 | packed>>36&0xf00 | packed>>48&0xf000))
}

func quantizeIQ1_M(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[iq1_MBytes:], src[SuperBlock:] {
		var half [2]byte
		d, codes := oddScales(half[:], 1, iq1Largest, 7, 16, src[:SuperBlock])
		var packed uint64
		for k := range 4 {
			packed |= uint64(binary.LittleEndian.Uint16(half[:])>>(4*k)&15) << (16*k + 12)
		}
		clear(dst[iq1_MHigh:iq1_MScales])
		for s, code := range codes {
			packed |= uint64(code) << (s/4*16 + s%4*3)
			for g := 2 * s; g < 2*s+2; g++ {
				entry, minus := nearestShifted(src[8*g:], d*float32(2*code+1))
				dst[g] = byte(entry)
				putNibble(dst[iq1_MHigh:], g, entry>>8|minus<<3)
			}
		}
		binary.LittleEndian.PutUint64(dst[iq1_MScales:], packed)
	}
}

func dotIQ1_M(row []byte, x []float32) float32 {
	var w [SuperBlock]float32
	var sum float32
	for ; len(x) > 0; row, x = row[iq1_MBytes:], x[SuperBlock:] {
		dequantizeIQ1_M(w[:], row)
		sum += DotFloats(w[:], x[:SuperBlock])
	}
	return sum
}
