package sample

import "math"

// Functions of float64 that give the same bits on every platform, which package math does not guarantee. A
// conversion after a product keeps the compiler from fusing it with a sum.

// ln(2) in two parts. The high part has 32 significant bits, so that its product with a small integer is
// exact.
const (
	wideLn2Hi = 6.93147180369123816490e-01
	wideLn2Lo = 1.90821492927058770002e-10
)

// taylor is the coefficients of e^x, from x^13 down to 1.
var taylor = [...]float64{
	1. / 6227020800, 1. / 479001600, 1. / 39916800, 1. / 3628800, 1. / 362880, 1. / 40320, 1. / 5040,
	1. / 720, 1. / 120, 1. / 24, 1. / 6, 1. / 2, 1, 1,
}

// wideExp is e^x, to about 1e-15 of it; 0 below e^-700, and infinite above e^700. The argument
// is reduced to r in [-ln2/2, ln2/2] by a power of two; the Taylor polynomial of degree 13 gives
// e^r to 5e-18.
func wideExp(x float64) float64 {
	switch {
	case x < -700:
		return 0
	case x > 700:
		return math.Inf(1)
	}
	n := math.Floor(float64(x*math.Log2E) + 0.5)
	r := x - float64(n*wideLn2Hi)
	r -= float64(n * wideLn2Lo)
	p := taylor[0]
	for _, c := range taylor[1:] {
		p = float64(p*r) + c
	}
	return p * math.Float64frombits(uint64(int64(n)+1023)<<52)
}

// wideLog is the natural logarithm of a positive normal number, with an error of about 1e-16 (relative or
// absolute). For x = 2^k m with m near 1 it is k ln2 + 2 artanh((m-1)/(m+1)); the series includes all terms
// above 1e-17.
func wideLog(x float64) float64 {
	m, k := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, k = 2*m, k-1
	}
	s := (m - 1) / (m + 1)
	square, series := float64(s*s), 0.0
	for n := 23.0; n >= 1; n -= 2 {
		series = 1/n + float64(square*series)
	}
	return float64(float64(k)*wideLn2Hi) + (float64(float64(k)*wideLn2Lo) + float64(2*float64(s*series)))
}

// widePow is x^y for x >= 0.
func widePow(x, y float64) float64 {
	switch {
	case y == 0:
		return 1
	case x == 0:
		return 0
	}
	return wideExp(float64(y * wideLog(x)))
}
