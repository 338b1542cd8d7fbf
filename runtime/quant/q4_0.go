package quant

// formatQ4_0 is Q4_0: 32 elements in 18 bytes.
//
//	d  half      scale
//	qs [16]byte  low nibbles: elements 0–15, high nibbles: elements 16–31
//
// element = d·(nibble - 8)
var formatQ4_0 = Format{
	Type: Q4_0, Name: "q4_0", BlockElems: 32, BlockBytes: q4_0Bytes,
	Dequantize: dequantizeQ4_0, Quantize: quantizeQ4_0, Dot: dotQ4_0,
	Halves: &HalfProducts{Magnitude: 8, Apart: 16, SubBlock: 32, Unpack: unpackQ4_0},
}

const q4_0Bytes = 18

// q4_0Table holds the values of the nibbles.
var q4_0Table = [16]float32{-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7}

func dequantizeQ4_0(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[32:], src[q4_0Bytes:] {
		unpackTable((*[32]float32)(dst), (*[16]byte)(src[2:]), &q4_0Table, halfAt(src))
	}
}

func unpackQ4_0(block []byte, q []int16, scales []Affine) {
	for j, b := range block[2:q4_0Bytes] {
		q[j], q[j+16] = int16(b&15)-8, int16(b>>4)-8
	}
	scales[0] = Affine{D: halfAt(block)}
}

func quantizeQ4_0(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[q4_0Bytes:], src[32:] {
		// The element of largest magnitude becomes -8, the end of the range that
		// reaches further.
		inv := inverse(putHalf(dst, extreme(src[:32])/-8))
		packNibbles((*[16]byte)(dst[2:]), src, func(f float32) int { return round(f*inv, -8, 7) + 8 })
	}
}

func dotQ4_0(row []byte, x []float32) float32 {
	var sum float32
	for ; len(x) > 0; row, x = row[q4_0Bytes:], x[32:] {
		sum += halfAt(row) * dotTable((*[16]byte)(row[2:]), (*[32]float32)(x), &q4_0Table)
	}
	return sum
}
