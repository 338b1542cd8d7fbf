package quant

import (
	"encoding/binary"
	"math"
)

// formatQ8_0 is Q8_0: 32 elements in 34 bytes.
//
//	d  half      scale
//	qs [32]int8
//
// element i = d·qs[i]
var formatQ8_0 = Format{
	Type: Q8_0, Name: "q8_0", BlockElems: 32, BlockBytes: q8_0Bytes,
	Dequantize: dequantizeQ8_0, Quantize: quantizeQ8_0, Dot: dotQ8_0,
	Halves: &HalfProducts{Magnitude: 128, Apart: 16, SubBlock: 32, Unpack: unpackQ8_0},
}

const q8_0Bytes = 34

func dequantizeQ8_0(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[32:], src[q8_0Bytes:] {
		d := halfAt(src)
		qs, w := (*[32]byte)(src[2:]), (*[32]float32)(dst)
		for j, b := range qs {
			w[j] = d * float32(int8(b))
		}
	}
}

func unpackQ8_0(block []byte, q []int16, scales []Affine) {
	for j, b := range block[2:q8_0Bytes] {
		q[j] = int16(int8(b))
	}
	scales[0] = Affine{D: halfAt(block)}
}

func quantizeQ8_0(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[q8_0Bytes:], src[32:] {
		binary.LittleEndian.PutUint16(dst, quantizeBytes(dst[2:], src[:32]))
	}
}

// quantizeBytes encodes the bytes of a block and returns its scale, a half.
func quantizeBytes(qs []byte, src []float32) (scale uint16) {
	largest := float32(math.Abs(float64(extreme(src))))
	scale = FloatToHalf(largest / 127)
	inv := inverse(HalfToFloat(scale))
	for j, f := range src {
		qs[j] = byte(int8(round(f*inv, -127, 127)))
	}
	return scale
}

// FloatsToScaledBytes encodes blocks of Q8_0 with separate fields: bytes in qs, and a half for every 32 of
// them in scales. len(src) must be a multiple of 32, and qs and scales large enough.
func FloatsToScaledBytes(qs []byte, scales []uint16, src []float32) {
	for b := range len(src) / 32 {
		scales[b] = quantizeBytes(qs[32*b:][:32], src[32*b:][:32])
	}
}

func dotQ8_0(row []byte, x []float32) float32 {
	var sum float32
	for ; len(x) > 0; row, x = row[q8_0Bytes:], x[32:] {
		sum += halfAt(row) * dotBytes((*[32]byte)(row[2:]), (*[32]float32)(x))
	}
	return sum
}

// dotBytes returns the sum of 32 signed bytes times x, in four running sums.
func dotBytes(qs *[32]byte, x *[32]float32) float32 {
	var s0, s1, s2, s3 float32
	for j := 0; j < 32; j += 4 {
		s0 += float32(int8(qs[j])) * x[j]
		s1 += float32(int8(qs[j+1])) * x[j+1]
		s2 += float32(int8(qs[j+2])) * x[j+2]
		s3 += float32(int8(qs[j+3])) * x[j+3]
	}
	return (s0 + s1) + (s2 + s3)
}
