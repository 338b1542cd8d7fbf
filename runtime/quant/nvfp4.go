package quant

import "math"

// NVFP4: 64 elements in 36 bytes, 4-bit floats (E2M1) in 4 sub-blocks of 16 under 8-bit floats.
//
//	d   [4]byte   scale of each sub-block, see nvfp4Scale
//	qs  [32]byte  8 bytes per sub-block: low nibbles: elements 0–7, high nibbles: elements 8–15
//
// element = scale·mxfp4Table[nibble]; the table holds the E2M1 values doubled.
var formatNVFP4 = Format{
	Type: NVFP4, Name: "nvfp4", BlockElems: 64, BlockBytes: nvfp4Bytes,
	Dequantize: dequantizeNVFP4, Quantize: quantizeNVFP4, Dot: dotNVFP4,
}

const nvfp4Bytes = 36

// nvfp4Scale returns half of the E4M3 number without a sign in the lower seven bits; the one that
// is no number is 0.
func nvfp4Scale(e uint8) float32 {
	mantissa, exponent := float64(e&7), int(e>>3&15)
	switch {
	case e&127 == 127:
		return 0
	case exponent == 0:
		return float32(math.Ldexp(mantissa, -10))
	}
	return float32(math.Ldexp(8+mantissa, exponent-11))
}

// nvfp4Scales has nvfp4Scale of every byte.
var nvfp4Scales = func() (scales [256]float32) {
	for e := range scales {
		scales[e] = nvfp4Scale(uint8(e))
	}
	return scales
}()

func dequantizeNVFP4(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[64:], src[nvfp4Bytes:] {
		for s, e := range src[:4] {
			scale, w := nvfp4Scales[e], (*[16]float32)(dst[16*s:])
			for j, b := range src[4+8*s : 12+8*s] {
				w[j] = scale * mxfp4Table[b&15]
				w[j+8] = scale * mxfp4Table[b>>4]
			}
		}
	}
}

func quantizeNVFP4(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[nvfp4Bytes:], src[64:] {
		for s := range 4 {
			sub := src[16*s : 16*s+16]
			want := math.Abs(float64(extreme(sub))) / 12 // the largest level
			e := uint8(0)
			for i := range uint8(127) { // the numbers ascend
				if math.Abs(float64(nvfp4Scales[i])-want) < math.Abs(float64(nvfp4Scales[e])-want) {
					e = i
				}
			}
			dst[s] = e
			inv := inverse(nvfp4Scales[e])
			for j := range 8 {
				dst[4+8*s+j] = byte(nearest(&mxfp4Table, sub[j]*inv) | nearest(&mxfp4Table, sub[j+8]*inv)<<4)
			}
		}
	}
}

func dotNVFP4(row []byte, x []float32) float32 {
	var w [64]float32
	var sum float32
	for ; len(x) > 0; row, x = row[nvfp4Bytes:], x[64:] {
		dequantizeNVFP4(w[:], row)
		sum += DotFloats(w[:], x[:64])
	}
	return sum
}
