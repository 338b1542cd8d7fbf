package quant

import (
	"encoding/binary"
	"math"
)

// The helpers of the Quantize functions.

// extreme returns the element of largest magnitude, with its sign.
func extreme(src []float32) float32 {
	var e float32
	for _, f := range src {
		if math.Abs(float64(f)) > math.Abs(float64(e)) {
			e = f
		}
	}
	return e
}

// maxOf returns the largest element, at least 0.
func maxOf(src []float32) float32 {
	var m float32
	for _, f := range src {
		m = max(m, f)
	}
	return m
}

// inverse returns 1/scale, or 0 for a scale of 0, under which every element is
// 0 whatever its bits.
func inverse(scale float32) float32 {
	if scale == 0 {
		return 0
	}
	return 1 / scale
}

// round returns the integer nearest to f within [lo, hi]; NaN gives lo.
func round(f float32, lo, hi int) int {
	r := math.RoundToEven(float64(f))
	if !(r > float64(lo)) {
		return lo
	}
	return int(min(r, float64(hi)))
}

// packNibbles stores 32 elements as the 4-bit codes that encode gives them:
// elements 0–15 in the low nibbles, 16–31 in the high ones.
func packNibbles(qs *[16]byte, src []float32, encode func(float32) int) {
	for j := range qs {
		qs[j] = byte(encode(src[j]) | encode(src[j+16])<<4)
	}
}

// pack5 stores 32 elements as 5-bit codes in the layout of Q5_0 and Q5_1: a
// word with the fifth bits, then the nibbles as in packNibbles.
func pack5(dst *[20]byte, src []float32, encode func(float32) int) {
	var fifth uint32
	for j := range 16 {
		low, high := encode(src[j]), encode(src[j+16])
		fifth |= uint32(low>>4)<<j | uint32(high>>4)<<(j+16)
		dst[4+j] = byte(low&15 | high<<4)
	}
	binary.LittleEndian.PutUint32(dst[:], fifth)
}
