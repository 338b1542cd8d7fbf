package device

import "math"

// RopeTable fills dst, [positions][len(freqs)][2], with the cosine and sine,
// times scale, of every rotated pair at every position that dst has room for.
// Angles are float64: position times frequency, in radians.
func RopeTable(dst []float32, freqs []float64, scale float64) {
	for pos := range len(dst) / (2 * len(freqs)) {
		row := dst[2*len(freqs)*pos:]
		for i, f := range freqs {
			sin, cos := math.Sincos(float64(pos) * f)
			row[2*i], row[2*i+1] = float32(cos*scale), float32(sin*scale)
		}
	}
}
