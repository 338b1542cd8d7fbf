// Package formula has the formulas of a model's parts in float64, one function each. The formulas are only
// here and in the code that has to be fast. gen/interp computes programs with them, and tests compare kernels
// and the Go references with them.
package formula

import "math"

// Number is the element type of weights and vectors.
type Number interface{ ~float32 | ~float64 }

// Dot is the dot product of two vectors.
func Dot[A, B Number](a []A, b []B) float64 {
	sum := 0.0
	for i, v := range a {
		sum += float64(v) * float64(b[i])
	}
	return sum
}

// Mul is a row-major matrix times a vector, whose length is the number of columns.
func Mul[W Number](w []W, x []float64) []float64 {
	y := make([]float64, len(w)/len(x))
	for r := range y {
		y[r] = Dot(w[r*len(x):][:len(x)], x)
	}
	return y
}

// MulTransposed is a transposed matrix times a vector.
func MulTransposed[W Number](w []W, x []float64) []float64 {
	y := make([]float64, len(w)/len(x))
	for r, v := range x {
		AddTo(y, w[r*len(y):][:len(y)], v)
	}
	return y
}

// AddTo adds factor·x to y.
func AddTo[X Number](y []float64, x []X, factor float64) {
	for i := range y {
		y[i] += factor * float64(x[i])
	}
}

// Norm is the RMS norm: x/sqrt(mean(x²)+eps)·weight.
func Norm[X, W Number](x []X, weight []W, eps float64) []float64 {
	y := make([]float64, len(x))
	factor := NormFactor(Dot(x, x), len(x), eps)
	for i, v := range x {
		y[i] = float64(v) * factor * float64(weight[i])
	}
	return y
}

// NormFactor is the factor of the RMS norm of n numbers, from the sum of their squares.
func NormFactor(squares float64, n int, eps float64) float64 {
	return 1 / math.Sqrt(squares/float64(n)+eps)
}

// NormPartial is the first half of an RMS norm: the numbers times the weights, and the sums of squares of
// groups of numbers.
func NormPartial[W Number](x []float64, weight []W, group int) (ready, squares []float64) {
	ready, squares = make([]float64, len(x)), make([]float64, len(x)/group)
	for i, v := range x {
		ready[i] = v * float64(weight[i])
		squares[i/group] += v * v
	}
	return ready, squares
}

// L2Norm is x/sqrt(Σx²+eps).
func L2Norm(x []float64, eps float64) []float64 {
	y := make([]float64, len(x))
	AddTo(y, x, 1/math.Sqrt(Dot(x, x)+eps))
	return y
}

// Logistic is 1/(1+e^-x).
func Logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// SiLU is x·Logistic(x).
func SiLU(x float64) float64 { return x * Logistic(x) }

// SquaredReLU is max(x, 0)².
func SquaredReLU(x float64) float64 { return max(x, 0) * max(x, 0) }

// SwiGLU is SiLU(gate)·up. A limit above 0 bounds SiLU(gate) from above, and up on both sides.
func SwiGLU(gate, up []float64, limit float64) []float64 {
	y := make([]float64, len(gate))
	for i, g := range gate {
		act, u := SiLU(g), up[i]
		if limit > 0 {
			act, u = min(act, limit), max(-limit, min(u, limit))
		}
		y[i] = act * u
	}
	return y
}

// Rope rotates the last dim numbers of a head in place. Pair i is numbers 2i and 2i+1, or with halves numbers
// i and i+dim/2. turn returns the cosine and sine of its angle.
func Rope(x []float64, dim int, halves bool, turn func(i int) (cos, sin float64)) {
	x = x[len(x)-dim:]
	for i := range dim / 2 {
		even, odd := 2*i, 2*i+1
		if halves {
			even, odd = i, i+dim/2
		}
		cos, sin := turn(i)
		a, b := x[even], x[odd]
		x[even], x[odd] = a*cos-b*sin, a*sin+b*cos
	}
}

// Angles returns the cosines and sines at a position, times a magnitude, from each pair's angle per position.
func Angles(freqs []float64, magnitude float64, pos int) func(i int) (cos, sin float64) {
	return func(i int) (cos, sin float64) {
		sin, cos = math.Sincos(float64(pos) * freqs[i])
		return magnitude * cos, magnitude * sin
	}
}
