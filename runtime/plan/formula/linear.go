package formula

import "math"

// Convolve is a channel of a short convolution: past are its inputs before, the oldest first, to
// which x is added.
func Convolve[W Number](w []W, past []float64, x float64) float64 {
	y := Dot(w[:len(past)], past) + float64(w[len(past)])*x
	copy(past, past[1:])
	past[len(past)-1] = x
	return y
}

// softplus is ln(1 + e^x), which is x where e^x leaves no digit of the 1.
func softplus(x float64) float64 {
	if x > 20 {
		return x
	}
	return math.Log1p(math.Exp(x))
}

// Decay is what a state keeps of itself by the law of softplus, or by that of a lower bound if there
// is one.
func Decay(a, x, bound float64) float64 {
	if bound != 0 {
		return math.Exp(bound * Logistic(a*x))
	}
	return math.Exp(a * softplus(x))
}

// Delta is the delta rule of one head: the state, [key][value], decays, is told the value that
// belongs to the key, and answers the query.
func Delta[X Number](state []float64, q, k, v, keep []X, beta, scale float64) []float64 {
	n := len(q)
	known := make([]float64, n) // by the state that has decayed
	for i := range n {
		row := state[i*n : (i+1)*n]
		for j := range row {
			row[j] *= float64(keep[i])
		}
		AddTo(known, row, float64(k[i]))
	}
	o := make([]float64, n)
	for i := range n {
		row := state[i*n : (i+1)*n]
		for j := range row {
			row[j] += float64(k[i]) * beta * (float64(v[j]) - known[j])
		}
		AddTo(o, row, scale*float64(q[i]))
	}
	return o
}
