// Package quality measures how well a model predicts a text, and how far apart two runs of a model are.
//
// It follows llama.cpp's perplexity tool, so that results are comparable with published ones. The text is cut
// into chunks of the context's length, and each chunk is run separately. The first token of a chunk is BOS if
// the model's texts begin with it. Only the tokens of the second half of a chunk count, each predicted from
// at least half a context. The rest at the end of the text is dropped. The perplexity is exp of the mean of
// -ln p, and its error is the standard error of that mean.
//
// Two runs are compared as that tool does with its KL base file: the first run saves the logits of all
// positions that count, at 16 bits each (Saved), and the second compares its own logits with them (Base). The
// file format is different, see Header and row.
package quality

import "math"

// LogSum returns ln Σ eˣ. A logit minus LogSum is ln of the token's probability.
func LogSum(x []float32) float64 {
	top := float64(x[Best(x)])
	sum := 0.0
	for _, v := range x {
		sum += math.Exp(float64(v) - top)
	}
	return top + math.Log(sum)
}

// Best returns the token with the greatest logit, the first one if there are several.
func Best(x []float32) int {
	best := 0
	for i, v := range x {
		if v > x[best] {
			best = i
		}
	}
	return best
}

// Divergence returns the Kullback-Leibler divergence, in nats, of the distribution of logits got from that of
// logits want: Σ p ln(p/q) with p from want and q from got.
func Divergence(got, want []float32) float64 {
	p, q := LogSum(want), LogSum(got)
	sum := 0.0
	for i := range want {
		lp, lq := float64(want[i])-p, float64(got[i])-q
		sum += math.Exp(lp) * (lp - lq)
	}
	return sum
}

// Mean computes the mean of numbers and its standard error.
type Mean struct {
	n    int
	mean float64
	sum  float64 // sum of squared distances from the mean
}

// Add adds a number, by Welford's method.
func (m *Mean) Add(x float64) {
	m.n++
	d := x - m.mean
	m.mean += d / float64(m.n)
	m.sum += d * (x - m.mean)
}

// Count returns how many numbers were added.
func (m *Mean) Count() int { return m.n }

// Value returns the mean; NaN without numbers.
func (m *Mean) Value() float64 {
	if m.n == 0 {
		return math.NaN()
	}
	return m.mean
}

// Err returns the standard error of the mean; NaN with fewer than two numbers.
func (m *Mean) Err() float64 {
	if m.n < 2 {
		return math.NaN()
	}
	return math.Sqrt(m.sum / float64(m.n-1) / float64(m.n))
}

// Perplexity is exp of the mean of the numbers added, which are -ln p.
type Perplexity struct{ Mean }

// Value returns the perplexity.
func (p *Perplexity) Value() float64 { return math.Exp(p.Mean.Value()) }

// Err returns the standard error of the perplexity, to first order.
func (p *Perplexity) Err() float64 { return p.Value() * p.Mean.Err() }

// normal95 is the half-width of the central 95 % of a normal distribution, in standard deviations.
const normal95 = 1.959964

// Interval returns the bounds that contain the perplexity with a probability of 95 %, if positions are
// independent.
func (p *Perplexity) Interval() (low, high float64) {
	d := normal95 * p.Mean.Err()
	return math.Exp(p.Mean.Value() - d), math.Exp(p.Mean.Value() + d)
}
