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

// exps is room for some exponentials.
type exps [linalg.VectorStep]float32

// swiglu replaces gate[i] by silu(gate[i])*up[i], where silu(x) = x·sigmoid(x). A rest, too,
// is done by the loops of whole steps: bits do not depend on the place.
func (e *exps) swiglu(gate, up []float32) {
	for len(gate) > 0 {
		n := min(len(gate), len(e))
		for i, g := range gate[:n] {
			e[i] = -g
		}
		linalg.Exps(e[:])
		for i, g := range gate[:n] {
			gate[i] = g / (1 + e[i]) * up[i]
		}
		gate, up = gate[n:], up[n:]
	}
}

// rmsScale is 1/sqrt(mean(x²)+eps); the sum of squares is float32.
func rmsScale(x []float32, eps float64) float32 {
	mean := float64(linalg.DotF32(x, x)) / float64(len(x))
	return float32(1 / math.Sqrt(mean+eps))
}
