package quant

import "math"

// Functions for formats whose 4-bit codes index a table of 16 levels: Q4_0, IQ4_NL, IQ4_XS and MXFP4. 32
// elements take 16 bytes: elements 0–15 are in the low nibbles, 16–31 in the high ones.

// unpackTable decodes 32 elements: scale times the level of each nibble.
func unpackTable(dst *[32]float32, qs *[16]byte, table *[16]float32, scale float32) {
	for j, b := range qs {
		dst[j] = scale * table[b&15]
		dst[j+16] = scale * table[b>>4]
	}
}

// dotTable returns the sum of 32 elements' levels times x. Four running sums hide
// the latency of the additions.
func dotTable(qs *[16]byte, x *[32]float32, table *[16]float32) float32 {
	var s0, s1, s2, s3 float32
	for j := 0; j < 16; j += 2 {
		a, b := qs[j], qs[j+1]
		s0 += table[a&15] * x[j]
		s1 += table[a>>4] * x[j+16]
		s2 += table[b&15] * x[j+1]
		s3 += table[b>>4] * x[j+17]
	}
	return (s0 + s1) + (s2 + s3)
}

// nearest returns the index of the level closest to f.
func nearest(table *[16]float32, f float32) int {
	best, distance := 0, math.Inf(1)
	for i, level := range table {
		if d := math.Abs(float64(f - level)); d < distance {
			best, distance = i, d
		}
	}
	return best
}
