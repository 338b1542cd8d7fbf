package quant

// formatQ2_0 is Q2_0: 64 elements in 18 bytes.
//
//	d   half      scale
//	qs  [16]byte  bits 2i and 2i+1, from the lowest ones of the first byte on: element i
//
// element = d·(q - 1)
var formatQ2_0 = Format{
	Type: Q2_0, Name: "q2_0", BlockElems: 64, BlockBytes: q2_0Bytes,
	Dequantize: dequantizeQ2_0, Quantize: quantizeQ2_0, Dot: dotQ2_0,
	Halves: &HalfProducts{Magnitude: 2, Apart: 4, SubBlock: 32, Unpack: unpackQ2_0},
}

const q2_0Bytes = 18

func dequantizeQ2_0(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[64:], src[q2_0Bytes:] {
		d := halfAt(src)
		for i, b := range src[2:q2_0Bytes] {
			w := (*[4]float32)(dst[4*i:])
			for j := range w {
				w[j] = d * float32(int(b>>(2*j)&3)-1)
			}
		}
	}
}

func unpackQ2_0(block []byte, q []int16, scales []Affine) {
	for i, b := range block[2:q2_0Bytes] {
		for j := range 4 {
			q[4*i+j] = int16(b>>(2*j)&3) - 1
		}
	}
	for s := range scales {
		scales[s] = Affine{D: halfAt(block)}
	}
}

func quantizeQ2_0(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[q2_0Bytes:], src[64:] {
		// The element of largest magnitude becomes 2, the end of the range that reaches further.
		inv := inverse(putHalf(dst, extreme(src[:64])/2))
		for i := range 16 {
			dst[2+i] = 0
			for j := range 4 {
				dst[2+i] |= byte(round(src[4*i+j]*inv, -1, 2)+1) << (2 * j)
			}
		}
	}
}

func dotQ2_0(row []byte, x []float32) float32 {
	var w [64]float32
	var sum float32
	for ; len(x) > 0; row, x = row[q2_0Bytes:], x[64:] {
		dequantizeQ2_0(w[:], row)
		sum += DotFloats(w[:], x[:64])
	}
	return sum
}
