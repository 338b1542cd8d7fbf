package quant

// formatF16 is F16: little-endian IEEE 754 binary16, one element per block of 2 bytes.
var formatF16 = Format{
	Type: F16, Name: "f16", BlockElems: 1, BlockBytes: 2,
	Dequantize: dequantizeF16, Quantize: quantizeF16, Dot: dotRowF16,
}

func dequantizeF16(dst []float32, src []byte) {
	for ; len(dst) >= 4; dst, src = dst[4:], src[8:] {
		w, b := (*[4]float32)(dst), (*[8]byte)(src)
		w[0] = halfAt(b[0:])
		w[1] = halfAt(b[2:])
		w[2] = halfAt(b[4:])
		w[3] = halfAt(b[6:])
	}
	for i := range dst {
		dst[i] = halfAt(src[2*i:])
	}
}

func quantizeF16(dst []byte, src []float32) {
	for i, f := range src {
		putHalf(dst[2*i:], f)
	}
}

func dotRowF16(row []byte, x []float32) float32 {
	var w [chunk]float32
	var sum float32
	for len(x) > 0 {
		n := min(len(x), chunk)
		dequantizeF16(w[:n], row)
		sum += DotFloats(w[:n], x[:n])
		row, x = row[2*n:], x[n:]
	}
	return sum
}
