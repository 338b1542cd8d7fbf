package quant

import (
	"encoding/binary"
	"math"
)

// formatBF16 is BF16: the upper 16 bits of an IEEE 754 binary32, one element per block of 2 bytes.
var formatBF16 = Format{
	Type: BF16, Name: "bf16", BlockElems: 1, BlockBytes: 2,
	Dequantize: dequantizeBF16, Quantize: quantizeBF16, Dot: dotRowBF16,
}

func dequantizeBF16(dst []float32, src []byte) {
	for ; len(dst) >= 4; dst, src = dst[4:], src[8:] {
		w, b := (*[4]float32)(dst), (*[8]byte)(src)
		w[0] = bfloatAt(b[0:])
		w[1] = bfloatAt(b[2:])
		w[2] = bfloatAt(b[4:])
		w[3] = bfloatAt(b[6:])
	}
	for i := range dst {
		dst[i] = bfloatAt(src[2*i:])
	}
}

// bfloatAt reads the bfloat16 at the start of b.
func bfloatAt(b []byte) float32 {
	return math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16)
}

// quantizeBF16 rounds to nearest, ties to even, and keeps NaNs quiet NaNs.
func quantizeBF16(dst []byte, src []float32) {
	for i, f := range src {
		bits := math.Float32bits(f)
		if f != f {
			bits |= 0x00400000
		} else {
			bits += 0x7fff + bits>>16&1
		}
		binary.LittleEndian.PutUint16(dst[2*i:], uint16(bits>>16))
	}
}

func dotRowBF16(row []byte, x []float32) float32 {
	var w [chunk]float32
	var sum float32
	for len(x) > 0 {
		n := min(len(x), chunk)
		dequantizeBF16(w[:n], row)
		sum += DotFloats(w[:n], x[:n])
		row, x = row[2*n:], x[n:]
	}
	return sum
}
