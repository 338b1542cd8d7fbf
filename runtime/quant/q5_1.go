package quant

import (
	"encoding/binary"
	"slices"
)

// formatQ5_1 is Q5_1: 32 elements in 24 bytes.
//
//	d  half      scale
//	m  half      minimum
//	qh uint32    bit i: fifth bit of element i
//	qs [16]byte  low nibbles: elements 0–15, high nibbles: elements 16–31
//
// element i = d·(nibble | bit i of qh << 4) + m
var formatQ5_1 = Format{
	Type: Q5_1, Name: "q5_1", BlockElems: 32, BlockBytes: q5_1Bytes,
	Dequantize: dequantizeQ5_1, Quantize: quantizeQ5_1, Dot: dotQ5_1,
	Halves: &HalfProducts{Magnitude: 16, Apart: 16, SubBlock: 32, Unpack: unpackQ5_1},
}

const q5_1Bytes = 24

func dequantizeQ5_1(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[32:], src[q5_1Bytes:] {
		d, m, qh := halfAt(src), halfAt(src[2:]), binary.LittleEndian.Uint32(src[4:])
		qs, w := (*[16]byte)(src[8:]), (*[32]float32)(dst)
		for j, b := range qs {
			low := uint32(b&15) | qh<<4&16
			high := uint32(b>>4) | qh>>12&16
			w[j] = d*float32(low) + m
			w[j+16] = d*float32(high) + m
			qh >>= 1
		}
	}
}

func unpackQ5_1(block []byte, q []int16, scales []Affine) {
	unpack5(binary.LittleEndian.Uint32(block[4:]), block[8:q5_1Bytes], -16, q)
	scales[0] = centred(halfAt(block), halfAt(block[2:]), 16)
}

func quantizeQ5_1(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[q5_1Bytes:], src[32:] {
		lo, hi := slices.Min(src[:32]), slices.Max(src[:32])
		inv := inverse(putHalf(dst, (hi-lo)/31))
		m := putHalf(dst[2:], lo)
		pack5((*[20]byte)(dst[4:]), src, func(f float32) int { return round((f-m)*inv, 0, 31) })
	}
}

func dotQ5_1(row []byte, x []float32) float32 {
	var w [32]float32
	var sum float32
	for ; len(x) > 0; row, x = row[q5_1Bytes:], x[32:] {
		dequantizeQ5_1(w[:], row)
		sum += DotFloats(w[:], x[:32])
	}
	return sum
}
