package quant

import "math"

// formatMXFP4 is MXFP4: 32 elements in 17 bytes, 4-bit floats under a power of two (OCP
// Microscaling formats, E2M1 elements and an E8M0 scale).
//
//	e  uint8     exponent of the scale
//	qs [16]byte  low nibbles: elements 0–15, high nibbles: elements 16–31
//
// element = 2^(e-128)·mxfp4Table[nibble]; the table holds the E2M1 values
// doubled, which makes them whole numbers.
var formatMXFP4 = Format{
	Type: MXFP4, Name: "mxfp4", BlockElems: 32, BlockBytes: mxfp4Bytes,
	Dequantize: dequantizeMXFP4, Quantize: quantizeMXFP4, Dot: dotMXFP4,
}

const mxfp4Bytes = 17

var mxfp4Table = [16]float32{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}

// mxfp4Scale returns 2^(e-128); the two smallest are subnormal.
func mxfp4Scale(e uint8) float32 {
	if e < 2 {
		return math.Float32frombits(1 << 21 << e)
	}
	return math.Float32frombits(uint32(e-1) << 23)
}

func dequantizeMXFP4(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[32:], src[mxfp4Bytes:] {
		unpackTable((*[32]float32)(dst), (*[16]byte)(src[1:]), &mxfp4Table, mxfp4Scale(src[0]))
	}
}

func quantizeMXFP4(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[mxfp4Bytes:], src[32:] {
		// The largest element keeps the exponent of the largest E2M1 number, 6 =
		// 1.5·2^2, as the OCP specification prescribes; above 6 it saturates.
		exponent := math.Ilogb(float64(extreme(src[:32]))) - 2
		e := uint8(min(max(exponent+127, 0), 254))
		dst[0] = e
		scale := float64(mxfp4Scale(e))
		packNibbles((*[16]byte)(dst[1:]), src, func(f float32) int {
			return nearest(&mxfp4Table, float32(float64(f)/scale))
		})
	}
}

func dotMXFP4(row []byte, x []float32) float32 {
	var sum float32
	for ; len(x) > 0; row, x = row[mxfp4Bytes:], x[32:] {
		sum += mxfp4Scale(row[0]) * dotTable((*[16]byte)(row[1:]), (*[32]float32)(x), &mxfp4Table)
	}
	return sum
}
