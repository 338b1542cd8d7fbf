package quant

import "math"

// formatQ1_0 is Q1_0: 128 elements in 18 bytes.
//
//	d   half      scale
//	qs  [16]byte  bit i, from the lowest one of the first byte on: element i
//
// element = d where its bit is 1, else -d
var formatQ1_0 = Format{
	Type: Q1_0, Name: "q1_0", BlockElems: 128, BlockBytes: q1_0Bytes,
	Dequantize: dequantizeQ1_0, Quantize: quantizeQ1_0, Dot: dotQ1_0,
	Halves: &HalfProducts{Magnitude: 1, Apart: 4, SubBlock: 32, Unpack: unpackQ1_0},
}

const q1_0Bytes = 18

func dequantizeQ1_0(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[128:], src[q1_0Bytes:] {
		d := halfAt(src)
		levels := [2]float32{-d, d}
		for i, b := range src[2:q1_0Bytes] {
			w := (*[8]float32)(dst[8*i:])
			for j := range w {
				w[j] = levels[b>>j&1]
			}
		}
	}
}

func unpackQ1_0(block []byte, q []int16, scales []Affine) {
	for i, b := range block[2:q1_0Bytes] {
		for j := range 8 {
			q[8*i+j] = int16(b>>j&1)*2 - 1
		}
	}
	for s := range scales {
		scales[s] = Affine{D: halfAt(block)}
	}
}

// quantizeQ1_0 takes the mean magnitude as the scale, which has the least squared error.
func quantizeQ1_0(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[q1_0Bytes:], src[128:] {
		var sum float64
		for _, f := range src[:128] {
			sum += math.Abs(float64(f))
		}
		putHalf(dst, float32(sum/128))
		clear(dst[2:q1_0Bytes])
		for i, f := range src[:128] {
			if f >= 0 {
				dst[2+i/8] |= 1 << (i % 8)
			}
		}
	}
}

func dotQ1_0(row []byte, x []float32) float32 {
	var w [128]float32
	var sum float32
	for ; len(x) > 0; row, x = row[q1_0Bytes:], x[128:] {
		dequantizeQ1_0(w[:], row)
		sum += DotFloats(w[:], x[:128])
	}
	return sum
}
