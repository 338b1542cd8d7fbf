package cpu

import "math"

// The formulas in float64, one function each.

func refMul(w []float64, entry, rows, cols int, x []float64) []float64 {
	y := make([]float64, rows)
	for r := range y {
		for c, v := range x[:cols] {
			y[r] += w[(entry*rows+r)*cols+c] * v
		}
	}
	return y
}

func refNorm(x, weight []float64, eps float64) []float64 {
	var sum float64
	for _, v := range x {
		sum += v * v
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = v / math.Sqrt(sum/float64(len(x))+eps) * weight[i]
	}
	return y
}

func refSilu(x float64) float64 { return x / (1 + math.Exp(-x)) }

func refSwiGLU(gate, up []float64) []float64 {
	y := make([]float64, len(gate))
	for i, g := range gate {
		y[i] = refSilu(g) * up[i]
	}
	return y
}

func refRope(x []float64, headDim int, freqs []float64, scale float64, pos int) []float64 {
	y := append([]float64(nil), x...)
	for h := 0; h < len(x); h += headDim {
		start := h + headDim - 2*len(freqs)
		for i, f := range freqs {
			sin, cos := math.Sincos(f * float64(pos))
			a, b := x[start+2*i], x[start+2*i+1]
			y[start+2*i], y[start+2*i+1] = scale*(a*cos-b*sin), scale*(a*sin+b*cos)
		}
	}
	return y
}

// refAttend is softmax(scale·q·K)·V of one head over n rows of dim, of which
// the first latDim are the value.
func refAttend(q, cache []float64, n, dim, latDim int, scale float64) []float64 {
	scores := make([]float64, n)
	m := math.Inf(-1)
	for r := range scores {
		for i, v := range q {
			scores[r] += scale * v * cache[r*dim+i]
		}
		m = max(m, scores[r])
	}
	var l float64
	o := make([]float64, latDim)
	for r, s := range scores {
		p := math.Exp(s - m)
		l += p
		for i := range o {
			o[i] += p * cache[r*dim+i]
		}
	}
	for i := range o {
		o[i] /= l
	}
	return o
}
