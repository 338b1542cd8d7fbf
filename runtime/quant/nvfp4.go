package quant

import (
	"encoding/binary"
	"math"
)

// formatNVFP4 is NVFP4: 64 elements in 36 bytes, 4-bit floats (E2M1) in 4 sub-blocks of 16 under 8-bit floats.
//
//	d   [4]byte   scale of each sub-block, see nvfp4Scale
//	qs  [32]byte  8 bytes per sub-block: low nibbles: elements 0–7, high nibbles: elements 8–15
//
// element = scale·mxfp4Table[nibble]; the table holds the E2M1 values doubled.
var formatNVFP4 = Format{
	Type: NVFP4, Name: "nvfp4", BlockElems: 64, BlockBytes: nvfp4Bytes,
	Dequantize: dequantizeNVFP4, Quantize: quantizeNVFP4, Dot: dotNVFP4,
	Halves: &HalfProducts{Magnitude: 16, Apart: 8, SubBlock: 16, Unpack: unpackNVFP4},
}

// formatNVFP4Scaled is NVFP4_SCALED: the same block after a float, a factor of all elements.
//
//	scale  float32
//	block  [36]byte  as NVFP4 has it
//
// element = (scale·nvfp4Scale)·mxfp4Table[nibble]
var formatNVFP4Scaled = Format{
	Type: NVFP4Scaled, Name: "nvfp4_scaled", BlockElems: 64, BlockBytes: nvfp4ScaledBytes, Loaded: true,
	Dequantize: dequantizeNVFP4Scaled, Quantize: quantizeNVFP4Scaled, Dot: dotNVFP4Scaled,
	Halves: &HalfProducts{Magnitude: 16, Apart: 8, SubBlock: 16, Unpack: unpackNVFP4Scaled},
}

const (
	nvfp4Bytes       = 36
	nvfp4ScaledBytes = 4 + nvfp4Bytes
)

// nvfp4Scale returns half of the unsigned E4M3 number in the lower seven bits; for NaN it returns 0.
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
		blockNVFP4(dst, src, 1)
	}
}

func dequantizeNVFP4Scaled(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[64:], src[nvfp4ScaledBytes:] {
		blockNVFP4(dst, src[4:], math.Float32frombits(binary.LittleEndian.Uint32(src)))
	}
}

// blockNVFP4 decodes a block and multiplies it by a factor.
func blockNVFP4(dst []float32, src []byte, factor float32) {
	for s, e := range src[:4] {
		scale, w := factor*nvfp4Scales[e], (*[16]float32)(dst[16*s:])
		for j, b := range src[4+8*s : 12+8*s] {
			w[j] = scale * mxfp4Table[b&15]
			w[j+8] = scale * mxfp4Table[b>>4]
		}
	}
}

// ScaleNVFP4 makes blocks of NVFP4Scaled from blocks of NVFP4 and their factor.
func ScaleNVFP4(dst, src []byte, factor float32) {
	for ; len(src) >= nvfp4Bytes && len(dst) >= nvfp4ScaledBytes; dst, src = dst[nvfp4ScaledBytes:], src[nvfp4Bytes:] {
		binary.LittleEndian.PutUint32(dst, math.Float32bits(factor))
		copy(dst[4:nvfp4ScaledBytes], src)
	}
}

func unpackNVFP4(block []byte, q []int16, scales []Affine) { integersNVFP4(block, 1, q, scales) }

func unpackNVFP4Scaled(block []byte, q []int16, scales []Affine) {
	integersNVFP4(block[4:], math.Float32frombits(binary.LittleEndian.Uint32(block)), q, scales)
}

// integersNVFP4 unpacks a block, with its scales multiplied by a factor.
func integersNVFP4(block []byte, factor float32, q []int16, scales []Affine) {
	for s, e := range block[:4] {
		for j, b := range block[4+8*s : 12+8*s] {
			q[16*s+j], q[16*s+j+8] = int16(mxfp4Table[b&15]), int16(mxfp4Table[b>>4])
		}
		scales[s] = Affine{D: factor * nvfp4Scales[e]}
	}
}

func quantizeNVFP4(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[nvfp4Bytes:], src[64:] {
		encodeNVFP4(dst, src[:64])
	}
}

// quantizeNVFP4Scaled chooses the factor that makes the largest scale of a block 16.
func quantizeNVFP4Scaled(dst []byte, src []float32) {
	var scaled [64]float32
	for ; len(src) > 0; dst, src = dst[nvfp4ScaledBytes:], src[64:] {
		factor := float32(math.Abs(float64(extreme(src[:64])))) / (12 * 16)
		inv := inverse(factor)
		for i, x := range src[:64] {
			scaled[i] = x * inv
		}
		binary.LittleEndian.PutUint32(dst, math.Float32bits(factor))
		encodeNVFP4(dst[4:], scaled[:])
	}
}

// encodeNVFP4 encodes a block.
func encodeNVFP4(dst []byte, src []float32) {
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

func dotNVFP4(row []byte, x []float32) (sum float32) {
	var w [64]float32
	for ; len(x) > 0; row, x = row[nvfp4Bytes:], x[64:] {
		dequantizeNVFP4(w[:], row)
		sum += DotFloats(w[:], x[:64])
	}
	return sum
}

func dotNVFP4Scaled(row []byte, x []float32) (sum float32) {
	var w [64]float32
	for ; len(x) > 0; row, x = row[nvfp4ScaledBytes:], x[64:] {
		dequantizeNVFP4Scaled(w[:], row)
		sum += DotFloats(w[:], x[:64])
	}
	return sum
}
