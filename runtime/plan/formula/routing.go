package formula

import (
	"math"
	"slices"

	"mla/runtime/plan"
)

// Gate selects experts by their logits, and returns them with their weights, best first. The bias counts for
// the selection only; nil: none.
func Gate[B Number](g *plan.Gating, logits []float64, bias []B) (experts []int, weights []float64) {
	probs := Probabilities(logits, g.Sigmoid)
	by := slices.Clone(probs)
	if g.ByLogits() {
		by = slices.Clone(logits)
	}
	if bias != nil {
		AddTo(by, bias, 1)
	}
	experts = Best(by, g.K, g.Groups, g.KGroups)
	for _, e := range experts {
		weights = append(weights, probs[e])
	}
	return experts, Shares(weights, g.Normalize, g.Scale)
}

// Probabilities is the softmax or sigmoid of the experts' logits.
func Probabilities(logits []float64, sigmoid bool) []float64 {
	if !sigmoid {
		return Softmax(logits)
	}
	y := make([]float64, len(logits))
	for i, v := range logits {
		y[i] = Logistic(v)
	}
	return y
}

// masked is the score of experts in other groups, and of experts whose score is NaN.
const masked = -1e30

// Best returns the k experts with the highest scores in the best groups; of equal scores, the lower expert
// comes first. The score of a group is the sum of its two best scores.
func Best(scores []float64, k, groups, kGroups int) []int {
	scores = slices.Clone(scores)
	for i, v := range scores {
		if math.IsNaN(v) {
			scores[i] = masked
		}
	}
	if groups > 1 {
		size := len(scores) / groups
		totals := make([]float64, groups)
		for g := range totals {
			group := slices.Sorted(slices.Values(scores[g*size : (g+1)*size]))
			for _, v := range group[max(0, size-2):] {
				totals[g] += v
			}
		}
		for _, g := range descending(totals)[kGroups:] {
			for i := range size {
				scores[g*size+i] = masked
			}
		}
	}
	return descending(scores)[:k]
}

// descending returns the indices of numbers, the largest number first.
func descending(x []float64) []int {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case x[a] > x[b]:
			return -1
		case x[a] < x[b]:
			return 1
		}
		return 0
	})
	return order
}

// leastSum keeps the normalisation finite: the smallest normal half.
const leastSum = 0x1p-14

// Shares is the weights of selected experts, from their probabilities.
func Shares(probs []float64, normalize bool, scale float64) []float64 {
	sum := 0.0
	for _, p := range probs {
		sum += p
	}
	y := make([]float64, len(probs))
	for i, p := range probs {
		if normalize {
			p /= max(sum, leastSum)
		}
		y[i] = p * scale
	}
	return y
}
