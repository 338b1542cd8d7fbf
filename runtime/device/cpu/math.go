package cpu

import (
	"math"

	"mla/runtime/quant"
)

// lowest is where running maxima start: below every score, yet finite, so that
// the difference of two of them is not NaN.
const lowest = -1e30

// exp32 is e^x with an error below one unit in the last place of float32. The
// argument is reduced to x = k·ln2 + r with |r| ≤ ln2/2, e^r is its Taylor
// polynomial of degree 8 in float64 (remainder below 3e-10), and 2^k is put
// together from bits. Results below 2^-126 are 0 and NaN stays NaN.
func exp32(x float32) float32 {
	const (
		shift = 0x1.8p52 // a float64 plus it is rounded to an integer, which its low bits hold
		over  = 88.73    // e^x is infinite from here on
		under = -87.33   // and below the normal numbers here
	)
	if !(x > under) {
		if x != x {
			return x
		}
		return 0
	}
	if x > over {
		return float32(math.Inf(1))
	}
	t := float64(x)*math.Log2E + shift
	k := int64(math.Float64bits(t) - math.Float64bits(shift))
	r := float64(x) - (t-shift)*math.Ln2
	r2 := r * r
	// Even and odd coefficients in two chains, which run side by side.
	even := 1 + r2*(1.0/2+r2*(1.0/24+r2*(1.0/720+r2*(1.0/40320))))
	odd := r * (1 + r2*(1.0/6+r2*(1.0/120+r2*(1.0/5040))))
	twoToK := math.Float64frombits(uint64(k+1023) << 52)
	return float32((even + odd) * twoToK)
}

// sigmoid is 1/(1+e^-x).
func sigmoid(x float32) float32 { return 1 / (1 + exp32(-x)) }

// swiglu replaces gate[i] by silu(gate[i])*up[i], where silu(x) = x·sigmoid(x).
func swiglu(gate, up []float32) {
	up = up[:len(gate)]
	for i, g := range gate {
		gate[i] = g * sigmoid(g) * up[i]
	}
}

// rmsScale is 1/sqrt(mean(x²)+eps); the sum of squares is float32.
func rmsScale(x []float32, eps float64) float32 {
	mean := float64(quant.DotF32(x, x)) / float64(len(x))
	return float32(1 / math.Sqrt(mean+eps))
}
