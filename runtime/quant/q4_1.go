package quant

import "slices"

// formatQ4_1 is Q4_1: 32 elements in 20 bytes.
//
//	d  half      scale
//	m  half      minimum
//	qs [16]byte  low nibbles: elements 0–15, high nibbles: elements 16–31
//
// element = d·nibble + m
var formatQ4_1 = Format{
	Type: Q4_1, Name: "q4_1", BlockElems: 32, BlockBytes: q4_1Bytes,
	Dequantize: dequantizeQ4_1, Quantize: quantizeQ4_1, Dot: dotQ4_1,
	Halves: &HalfProducts{Magnitude: 8, Apart: 16, SubBlock: 32, Unpack: unpackQ4_1},
}

const q4_1Bytes = 20

func dequantizeQ4_1(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[32:], src[q4_1Bytes:] {
		d, m := halfAt(src), halfAt(src[2:])
		qs, w := (*[16]byte)(src[4:]), (*[32]float32)(dst)
		for j, b := range qs {
			w[j] = d*float32(b&15) + m
			w[j+16] = d*float32(b>>4) + m
		}
	}
}

func unpackQ4_1(block []byte, q []int16, scales []Affine) {
	for j, b := range block[4:q4_1Bytes] {
		q[j], q[j+16] = int16(b&15)-8, int16(b>>4)-8
	}
	scales[0] = centred(halfAt(block), halfAt(block[2:]), 8)
}

func quantizeQ4_1(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[q4_1Bytes:], src[32:] {
		lo, hi := slices.Min(src[:32]), slices.Max(src[:32])
		inv := inverse(putHalf(dst, (hi-lo)/15))
		m := putHalf(dst[2:], lo)
		packNibbles((*[16]byte)(dst[4:]), src, func(f float32) int { return round((f-m)*inv, 0, 15) })
	}
}

func dotQ4_1(row []byte, x []float32) float32 {
	var w [32]float32
	var sum float32
	for ; len(x) > 0; row, x = row[q4_1Bytes:], x[32:] {
		dequantizeQ4_1(w[:], row)
		sum += DotFloats(w[:], x[:32])
	}
	return sum
}
