package formula

import (
	"math"
	"slices"
)

// Mean is attention for one query: the mean of n vectors, weighted by the softmax of their scores. If there
// are masses, mass i multiplies the weight of vector i; so Mean also combines the splits of a cache. It
// returns the largest score and the sum of e^(score-largest), too.
func Mean(scores, masses []float64, dim int, value func(i int) []float64) (mean []float64, top, sum float64) {
	mean, top = make([]float64, dim), math.Inf(-1)
	if len(scores) > 0 {
		top = slices.Max(scores)
	}
	for i, s := range scores {
		p := math.Exp(s - top)
		if masses != nil {
			p *= masses[i]
		}
		sum += p
		AddTo(mean, value(i)[:dim], p)
	}
	for i := range mean {
		mean[i] /= sum
	}
	return mean, top, sum
}

// Softmax is the softmax of x.
func Softmax(x []float64) []float64 {
	y, sum, top := make([]float64, len(x)), 0.0, slices.Max(x)
	for i, v := range x {
		y[i] = math.Exp(v - top)
		sum += y[i]
	}
	for i := range y {
		y[i] /= sum
	}
	return y
}
