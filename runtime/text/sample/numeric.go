package sample

import "math"

// Constants of exp: log2(e), and ln(2) in two parts. The high part has only 9 significant bits, so that its
// product with a small integer is exact.
const (
	log2e = float32(1.44269504)
	ln2Hi = float32(0.693359375)
	ln2Lo = float32(-2.12194440e-4)
)

// weightOne is the weight of the best token.
const weightOne = 1 << 30

// weight is exp(x) in units of 2^-30, rounded down, for x <= 0. Probabilities are added as these integers, so
// sums are exact in any order. Tokens below 2^-30 of the best one weigh nothing. x is never NaN.
func weight(x float32) uint64 { return uint64(exp(x) * weightOne) }

// exp is e^x for x <= 0, to 2 units in the last place, and 0 below e^-80. The
// argument is reduced to r in [-ln2/2, ln2/2] by a power of two; a Taylor
// polynomial of degree 7 gives e^r to 6e-9. The conversions keep the compiler
// from fusing products and sums, which would round differently by platform.
func exp(x float32) float32 {
	if x < -80 {
		return 0
	}
	n := float32(math.Floor(float64(float32(x*log2e) + 0.5)))
	r := x - float32(n*ln2Hi)
	r -= float32(n * ln2Lo)
	p := float32(1.0 / 5040)
	p = float32(p*r) + float32(1.0/720)
	p = float32(p*r) + float32(1.0/120)
	p = float32(p*r) + float32(1.0/24)
	p = float32(p*r) + float32(1.0/6)
	p = float32(p*r) + 0.5
	p = float32(p*r) + 1
	p = float32(p*r) + 1
	return p * math.Float32frombits(uint32(int32(n)+127)<<23)
}

// random is the 64-bit random number of a draw: the SplitMix64 generator (Steele,
// Lea, Flood 2014), started at a hash of the seed and advanced by its counter.
func random(seed, draw uint64) uint64 {
	const golden = 0x9E3779B97F4A7C15 // 2^64 / golden ratio, odd
	return mix(mix(seed+golden) + (draw+1)*golden)
}

// mix is the output function of SplitMix64, a bijection of 64-bit numbers.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}
