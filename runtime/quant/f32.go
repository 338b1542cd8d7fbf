package quant

import (
	"encoding/binary"
	"math"
)

// formatF32 is F32: little-endian IEEE 754 binary32, one element per block of 4 bytes.
var formatF32 = Format{
	Type: F32, Name: "f32", BlockElems: 1, BlockBytes: 4,
	Dequantize: dequantizeF32, Quantize: quantizeF32, Dot: dotRowF32,
}

func dequantizeF32(dst []float32, src []byte) {
	for ; len(dst) >= 4; dst, src = dst[4:], src[16:] {
		w, b := (*[4]float32)(dst), (*[16]byte)(src)
		w[0] = math.Float32frombits(binary.LittleEndian.Uint32(b[0:]))
		w[1] = math.Float32frombits(binary.LittleEndian.Uint32(b[4:]))
		w[2] = math.Float32frombits(binary.LittleEndian.Uint32(b[8:]))
		w[3] = math.Float32frombits(binary.LittleEndian.Uint32(b[12:]))
	}
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
	}
}

func quantizeF32(dst []byte, src []float32) {
	for i, f := range src {
		binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(f))
	}
}

func dotRowF32(row []byte, x []float32) float32 {
	var w [chunk]float32
	var sum float32
	for len(x) > 0 {
		n := min(len(x), chunk)
		dequantizeF32(w[:n], row)
		sum += DotFloats(w[:n], x[:n])
		row, x = row[4*n:], x[n:]
	}
	return sum
}
