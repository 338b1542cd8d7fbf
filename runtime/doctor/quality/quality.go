// Package quality measures how well a model predicts a text, and how far two runs of a
// model are apart.
//
// It follows llama.cpp's perplexity tool, so that numbers can be compared with those that
// others publish: the text is cut into chunks of the context's length, each is run by
// itself, its first token is BOS where the model's texts begin with it, and only tokens
// of its second half count, each predicted from at least half a context. What is left at
// the end of the text is dropped. The perplexity is exp of the mean of -ln p, and its
// error is the standard error of that mean.
//
// Two runs are compared as that tool does with its KL base file: the first run saves the
// logits of all positions that count, at 16 bits each (Saved), the second one compares
// its own with them (Base). The file is of another format, see Header and row.
package quality

import "math"

// LogSum is ln Σ eˣ: a logit less this is ln of its token's probability.
func LogSum(x []float32) float64 {
	top := float64(x[Best(x)])
	sum := 0.0
	for _, v := range x {
		sum += math.Exp(float64(v) - top)
	}
	return top + math.Log(sum)
}

// Best is the token with the greatest logit, the first of those.
func Best(x []float32) int {
	best := 0
	for i, v := range x {
		if v > x[best] {
			best = i
		}
	}
	return best
}

// Divergence is the Kullback-Leibler divergence, in nats, of the probabilities that
// logits got stand for from those of want: Σ p ln(p/q), p of want and q of got.
func Divergence(got, want []float32) float64 {
	p, q := LogSum(want), LogSum(got)
	sum := 0.0
	for i := range want {
		lp, lq := float64(want[i])-p, float64(got[i])-q
		sum += math.Exp(lp) * (lp - lq)
	}
	return sum
}

// Mean is the mean of numbers, and how certain it is.
type Mean struct {
	n    int
	mean float64
	sum  float64 // of squared distances from the mean
}

// Add takes in a number, by Welford's method.
func (m *Mean) Add(x float64) {
	m.n++
	d := x - m.mean
	m.mean += d / float64(m.n)
	m.sum += d * (x - m.mean)
}

// Count is how many numbers there were.
func (m *Mean) Count() int { return m.n }

// Value is the mean; NaN of no numbers.
func (m *Mean) Value() float64 {
	if m.n == 0 {
		return math.NaN()
	}
	return m.mean
}

// Err is the standard error of the mean; NaN of fewer than two numbers.
func (m *Mean) Err() float64 {
	if m.n < 2 {
		return math.NaN()
	}
	return math.Sqrt(m.sum / float64(m.n-1) / float64(m.n))
}

// Perplexity is exp of the mean of -ln p.
type Perplexity struct{ Mean }

// Value is the perplexity, Err its standard error to first order.
func (p *Perplexity) Value() float64 { return math.Exp(p.Mean.Value()) }

// Err is the standard error, to first order.
func (p *Perplexity) Err() float64 { return p.Value() * p.Mean.Err() }

// normal95 is how many standard errors either side hold 95 % of a normal distribution.
const normal95 = 1.959964

// Interval holds the perplexity with a probability of 95 %, if positions are independent.
func (p *Perplexity) Interval() (low, high float64) {
	d := normal95 * p.Mean.Err()
	return math.Exp(p.Mean.Value() - d), math.Exp(p.Mean.Value() + d)
}
