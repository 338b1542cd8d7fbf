package quant

import "encoding/binary"

// formatIQ4_XS is IQ4_XS: 256 elements in 136 bytes, 8 sub-blocks of 32 with the levels of IQ4_NL.
//
//	d        half       scale of the scales
//	scalesH  uint16     bits 2s and 2s+1: upper two bits of scale s
//	scalesL  uint32     bits 4s…4s+3: low four bits of scale s
//	qs       [128]byte  16 bytes per sub-block: low nibbles: elements 0–15, high: 16–31
//
// element = d·(scale - 32)·iq4Table[nibble]
var formatIQ4_XS = Format{
	Type: IQ4_XS, Name: "iq4_xs", BlockElems: SuperBlock, BlockBytes: iq4_XSBytes,
	Dequantize: dequantizeIQ4_XS, Quantize: quantizeIQ4_XS, Dot: dotIQ4_XS,
}

const iq4_XSBytes = 136

// scalesIQ4_XS returns the eight products d·(scale - 32) of a block.
func scalesIQ4_XS(block []byte) (scales [8]float32) {
	d := halfAt(block)
	high, low := uint32(binary.LittleEndian.Uint16(block[2:])), binary.LittleEndian.Uint32(block[4:])
	for s := range scales {
		scales[s] = d * float32(int32(low>>(4*s)&15|high>>(2*s)&3<<4)-32)
	}
	return scales
}

func dequantizeIQ4_XS(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[SuperBlock:], src[iq4_XSBytes:] {
		for s, scale := range scalesIQ4_XS(src) {
			unpackTable((*[32]float32)(dst[32*s:]), (*[16]byte)(src[8+16*s:]), &iq4Table, scale)
		}
	}
}

func quantizeIQ4_XS(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[iq4_XSBytes:], src[SuperBlock:] {
		var want [8]float32
		for s := range want {
			want[s] = extreme(src[32*s:32*s+32]) / iq4Table[0]
		}
		d := putHalf(dst, extreme(want[:])/-32)
		invD := inverse(d)
		var high, low uint32
		for s := range want {
			scale := round(want[s]*invD, -32, 31)
			low |= uint32(scale+32) & 15 << (4 * s)
			high |= uint32(scale+32) >> 4 << (2 * s)
			inv := inverse(d * float32(scale))
			packNibbles((*[16]byte)(dst[8+16*s:]), src[32*s:], func(f float32) int { return nearest(&iq4Table, f*inv) })
		}
		binary.LittleEndian.PutUint16(dst[2:], uint16(high))
		binary.LittleEndian.PutUint32(dst[4:], low)
	}
}

func dotIQ4_XS(row []byte, x []float32) float32 {
	var sum float32
	for ; len(x) > 0; row, x = row[iq4_XSBytes:], x[SuperBlock:] {
		for s, scale := range scalesIQ4_XS(row) {
			sum += scale * dotTable((*[16]byte)(row[8+16*s:]), (*[32]float32)(x[32*s:]), &iq4Table)
		}
	}
	return sum
}
