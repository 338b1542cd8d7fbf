package cpu

import (
	"math"

	"mla/runtime/device/linalg"
)

// lowest is the start of running maxima: below every score, but finite, so that the difference of two maxima
// is not NaN.
const lowest = -1e30

// sigmoid is 1/(1+e^-x).
func sigmoid(x float32) float32 { return 1 / (1 + linalg.Exp(-x)) }

// exps is a buffer for VectorStep exponentials.
type exps [linalg.VectorStep]float32

// each calls f with pieces of x, after it has set e to the exponentials of their negatives. All of e is
// computed for the shorter last piece, too, so that an element's bits do not depend on its place.
func (e *exps) each(x []float32, f func(at int, x []float32)) {
	for at := 0; at < len(x); at += len(e) {
		piece := x[at:min(at+len(e), len(x))]
		for i, v := range piece {
			e[i] = -v
		}
		linalg.Exps(e[:])
		f(at, piece)
	}
}

// swiglu replaces gate[i] by silu(gate[i])*up[i], where silu(x) = x·sigmoid(x). A limit other than 0 bounds
// the first factor from above, and the second on both sides.
func (e *exps) swiglu(gate, up []float32, limit float32) {
	e.each(gate, func(at int, x []float32) {
		up := up[at:][:len(x)]
		if limit == 0 {
			for i, g := range x {
				x[i] = g / (1 + e[i]) * up[i]
			}
			return
		}
		for i, g := range x {
			x[i] = min(g/(1+e[i]), limit) * max(-limit, min(up[i], limit))
		}
	})
}

// silu replaces x[i] by x[i]·sigmoid(x[i]).
func (e *exps) silu(x []float32) {
	e.each(x, func(_ int, x []float32) {
		for i, v := range x {
			x[i] = v / (1 + e[i])
		}
	})
}

// sigmoid replaces x[i] by sigmoid(x[i]).
func (e *exps) sigmoid(x []float32) {
	e.each(x, func(_ int, x []float32) {
		for i := range x {
			x[i] = 1 / (1 + e[i])
		}
	})
}

// rmsScale is 1/sqrt(mean(x²)+eps), with the sum of squares in float32.
func rmsScale(x []float32, eps float64) float32 {
	mean := float64(linalg.DotF32(x, x)) / float64(len(x))
	return float32(1 / math.Sqrt(mean+eps))
}
