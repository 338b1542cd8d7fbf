package cpu

import "mla/runtime/plan/formula"

// multiplied is a matrix of a batch times a vector.
func multiplied(w []float64, entry, rows, cols int, x []float64) []float64 {
	return formula.Mul(w[entry*rows*cols:][:rows*cols], x[:cols])
}

// rotated are heads after RoPE.
func rotated(x []float64, headDim int, freqs []float64, scale float64, pos int) []float64 {
	y := append([]float64(nil), x...)
	for h := 0; h < len(x); h += headDim {
		formula.Rope(y[h:h+headDim], 2*len(freqs), false, formula.Angles(freqs, scale, pos))
	}
	return y
}

// attended is softmax(scale·q·K)·V of one head over n rows of dim, of which
// the first latDim are the value.
func attended(q, cache []float64, n, dim, latDim int, scale float64) []float64 {
	scores := make([]float64, n)
	row := func(i int) []float64 { return cache[i*dim:][:dim] }
	for i := range scores {
		scores[i] = scale * formula.Dot(q, row(i))
	}
	o, _, _ := formula.Mean(scores, nil, latDim, row)
	return o
}
