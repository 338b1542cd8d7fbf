package linalg

import (
	"fmt"
	"math"
)

// Exp is e^x with an error below one unit in the last place of float32. The
// argument is reduced to x = k·ln2 + r with |r| ≤ ln2/2, e^r is its Taylor
// polynomial of degree 8 in float64 (remainder below 3e-10), and 2^k is put
// together from bits. NaN stays NaN.
func Exp(x float32) float32 {
	const (
		shift = 0x1.8p52 // adding it rounds a float64 to an integer, in the low bits of the sum
		over  = 89       // from here on e^x is infinite
		under = -104     // below this it rounds to 0
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
	// Even and odd coefficients form two independent chains, which the processor runs in parallel.
	even := 1 + r2*(1.0/2+r2*(1.0/24+r2*(1.0/720+r2*(1.0/40320))))
	odd := r * (1 + r2*(1.0/6+r2*(1.0/120+r2*(1.0/5040))))
	twoToK := math.Float64frombits(uint64(k+1023) << 52)
	return float32((even + odd) * twoToK)
}

// Exps replaces every element of x by its exponential, with an error below two units in the last place. It
// panics unless len(x) is a multiple of VectorStep. Computing a rest with Exp would make an element's bits
// depend on its place.
func Exps(x []float32) {
	n, loops := whole(len(x))
	switch {
	case len(x)%VectorStep != 0:
		panic(fmt.Sprintf("linalg: exponentials of %d floats; expected a multiple of %d", len(x), VectorStep))
	case n > 0:
		loops.exp(&x[0], n)
	default:
		for i, f := range x {
			x[i] = Exp(f)
		}
	}
}
