package cpu

import (
	"math"

	"mla/runtime/device/linalg"
)

// lowest is where running maxima start: below every score, yet finite, so that
// the difference of two of them is not NaN.
const lowest = -1e30

// sigmoid is 1/(1+e^-x).
func sigmoid(x float32) float32 { return 1 / (1 + linalg.Exp(-x)) }

// exps is a buffer for some exponentials.
type exps [linalg.VectorStep]float32

// each calls f with pieces of x, when e holds the exponentials of their negatives. A rest, too,
// is done by the loops of whole steps: bits do not depend on the place.
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

// swiglu replaces gate[i] by silu(gate[i])*up[i], where silu(x) = x·sigmoid(x). With a limit the first factor is no
// greater, and the second between it and its negative; 0: there is none.
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

// rmsScale is 1/sqrt(mean(x²)+eps); the sum of squares is float32.
func rmsScale(x []float32, eps float64) float32 {
	mean := float64(linalg.DotF32(x, x)) / float64(len(x))
	return float32(1 / math.Sqrt(mean+eps))
}
