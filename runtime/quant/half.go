package quant

import (
	"encoding/binary"
	"math"
)

// HalfToFloat converts an IEEE 754 binary16 number; every half is exact in
// float32. Signalling NaNs become quiet, as in hardware.
func HalfToFloat(h uint16) float32 {
	if h&0x7c00 == 0x7c00 {
		return specialHalf(h)
	}
	// The half's sign, exponent and mantissa, read as a float32, give a number that is too small by 2^112,
	// because the exponent biases differ by 127-15. The product normalises subnormal halves, too.
	return math.Float32frombits(uint32(h&0x8000)<<16|uint32(h&0x7fff)<<13) * 0x1p112
}

// specialHalf converts infinities and NaNs.
func specialHalf(h uint16) float32 {
	bits := uint32(h&0x8000)<<16 | 0x7f800000 | uint32(h&0x3ff)<<13
	if h&0x3ff != 0 {
		bits |= 0x00400000
	}
	return math.Float32frombits(bits)
}

// FloatToHalf converts to IEEE 754 binary16, rounding to nearest, ties to even.
// Values of 65520 and above become infinite; a NaN stays a (quiet) NaN.
func FloatToHalf(f float32) uint16 {
	const (
		infinity     = 0x7f800000 // float32 bits
		overflow     = 0x477ff000 // 65520, halfway between the largest half and 2^16
		smallest     = 0x38800000 // 2^-14, the smallest normal half
		biasShift    = (127 - 15) << 23
		roundingUnit = 0.5 // its ulp is 2^-24, the unit of subnormal halves
	)
	bits := math.Float32bits(f)
	sign := uint16(bits>>16) & 0x8000
	bits &= 0x7fffffff
	switch {
	case bits > infinity:
		return sign | 0x7e00 | uint16(bits>>13)&0x3ff
	case bits >= overflow:
		return sign | 0x7c00
	case bits < smallest:
		rounded := math.Float32frombits(bits) + roundingUnit
		return sign | uint16(math.Float32bits(rounded)-math.Float32bits(roundingUnit))
	}
	bits += 0xfff + bits>>13&1
	return sign | uint16((bits-biasShift)>>13)
}

// halfAt reads the little-endian half at the start of b.
func halfAt(b []byte) float32 { return HalfToFloat(binary.LittleEndian.Uint16(b)) }

// putHalf rounds f to a half, stores it at the beginning of b, and returns the rounded value.
func putHalf(b []byte, f float32) float32 {
	h := FloatToHalf(f)
	binary.LittleEndian.PutUint16(b, h)
	return HalfToFloat(h)
}
