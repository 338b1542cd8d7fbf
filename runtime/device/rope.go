package device

import (
	"math"
	"slices"
)

// RopeTable fills dst, [positions][len(freqs)][2], with scale times the cosine and sine of every rotated pair
// at every position. Angles are float64: position times frequency, in radians.
func RopeTable(dst []float32, freqs []float64, scale float64) {
	for pos := range len(dst) / max(2*len(freqs), 1) { // a model without rotary positions has no frequencies
		row := dst[2*len(freqs)*pos:]
		for i, f := range freqs {
			sin, cos := math.Sincos(float64(pos) * f)
			row[2*i], row[2*i+1] = float32(cos*scale), float32(sin*scale)
		}
	}
}

// RopeFactors is the divisors of rotary frequencies that a file has, one per pair: Short for sessions of at
// most Original positions, Long for longer ones. An empty list divides nothing.
type RopeFactors struct {
	Short, Long []float64
	Original    int
}

// wrong says whether a list is neither empty nor of one factor per pair.
func (f *RopeFactors) wrong(pairs int) bool {
	return len(f.Short) != 0 && len(f.Short) != pairs || len(f.Long) != 0 && len(f.Long) != pairs
}

// ropeFreqs returns the frequencies for sessions of up to context positions.
func (m *Model) ropeFreqs(context int) []float64 {
	factors := m.RopeFactors.Short
	if context > m.RopeFactors.Original {
		factors = m.RopeFactors.Long
	}
	freqs := slices.Clone(m.Bundle.RopeFreqs)
	for i, f := range factors {
		freqs[i] /= f
	}
	return freqs
}
