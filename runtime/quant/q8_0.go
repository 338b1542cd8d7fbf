package quant

import "math"

// Q8_0: 32 elements in 34 bytes.
//
//	d  half      scale
//	qs [32]int8
//
// element i = d·qs[i]
var formatQ8_0 = Format{
	Type: Q8_0, Name: "q8_0", BlockElems: 32, BlockBytes: q8_0Bytes,
	Dequantize: dequantizeQ8_0, Quantize: quantizeQ8_0, Dot: dotQ8_0,
	halves: &halfProducts{magnitude: 128, apart: 16, unpack: unpackQ8_0},
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

func unpackQ8_0(block []byte, q []int16, scales []affine) {
	for j, b := range block[2:q8_0Bytes] {
		q[j] = int16(int8(b))
	}
	scales[0] = affine{d: halfAt(block)}
}

func quantizeQ8_0(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[q8_0Bytes:], src[32:] {
		largest := float32(math.Abs(float64(extreme(src[:32]))))
		inv := inverse(putHalf(dst, largest/127))
		for j, f := range src[:32] {
			dst[2+j] = byte(int8(round(f*inv, -127, 127)))
		}
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
