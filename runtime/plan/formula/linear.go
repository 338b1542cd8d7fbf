package formula

import "math"

// Convolve is one channel of a short causal convolution with weights w, over past inputs, oldest first, and
// x. It then shifts x into past.
func Convolve[W Number](w []W, past []float64, x float64) float64 {
	y := Dot(w[:len(past)], past) + float64(w[len(past)])*x
	copy(past, past[1:])
	past[len(past)-1] = x
	return y
}

// softplus is ln(1 + e^x). Above 20 it is x.
func softplus(x float64) float64 {
	if x > 20 {
		return x
	}
	return math.Log1p(math.Exp(x))
}

// Decay is the factor by which a state decays: exp(a·softplus(x)), or with a lower bound exp(bound·σ(a·x)).
func Decay(a, x, bound float64) float64 {
	if bound != 0 {
		return math.Exp(bound * Logistic(a*x))
	}
	return math.Exp(a * softplus(x))
}

// Delta is the delta rule of one head for one row. The state, [key][value], decays and is updated with the
// key's value. Delta returns scale times the state's answer to the query.
func Delta[X Number](state []float64, q, k, v, keep []X, beta, scale float64) []float64 {
	n := len(q)
	known := make([]float64, n) // the value of the decayed state for the key
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
