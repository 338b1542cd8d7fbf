package sample

import (
	"math"
	"slices"
)

// Steps of a chain that drop tokens. The chosen ids stay in ascending order.

// keepBest keeps the k tokens with the largest logits.
func (s *Sampler) keepBest(k int) {
	if k >= len(s.chosen) {
		return
	}
	s.heap = append(s.heap[:0], s.chosen...)
	s.order(s.logits)
	s.chosen = s.chosen[:0]
	for range k {
		s.chosen = append(s.chosen, s.pop())
	}
	slices.Sort(s.chosen)
}

// keepFirst keeps the tokens with the largest keys, up to the one at which the kept weight reaches p (by the
// sign of share), and at least MinKeep.
func (s *Sampler) keepFirst(keys []float32, p float32, enough int) {
	total, top := s.weigh(), s.logits[s.best()]
	s.heap = append(s.heap[:0], s.chosen...)
	s.order(keys)
	s.chosen = s.chosen[:0]
	for sum := uint64(0); len(s.heap) > 0; {
		id := s.pop()
		s.chosen = append(s.chosen, id)
		sum += s.weightOf(id, top)
		if share(sum, total, part(p)) >= enough && len(s.chosen) >= s.p.MinKeep {
			break
		}
	}
	slices.Sort(s.chosen)
}

// keepTopP is top-p (Holtzman et al. 2020): the fewest most likely tokens whose probabilities sum up to p.
func (s *Sampler) keepTopP(uint64) { s.keepFirst(s.logits, s.p.TopP, 0) }

// keepTypical is locally typical sampling (Meister et al. 2022): the tokens whose surprise is nearest to the
// entropy, the fewest whose probabilities exceed p in total. For a logit x minus the best one, -ln p - H =
// mean of x - x.
func (s *Sampler) keepTypical(uint64) {
	top := s.logits[s.best()]
	mean, _ := s.entropy(top)
	s.scores = slices.Grow(s.scores[:0], len(s.logits))[:len(s.logits)]
	for _, id := range s.chosen {
		s.scores[id] = float32(-math.Abs(mean - s.below(id, top)))
	}
	s.keepFirst(s.scores, s.p.TypicalP, 1)
}

// keepMinP keeps tokens with at least MinP times the best token's probability.
func (s *Sampler) keepMinP(uint64) {
	top := s.logits[s.best()]
	likely := func(id int32) bool { return s.below(id, top) >= float64(s.logMinP) }
	n := 0
	for _, id := range s.chosen {
		if likely(id) {
			n++
		}
	}
	if n < s.p.MinKeep {
		s.keepBest(s.p.MinKeep)
		return
	}
	s.chosen = slices.DeleteFunc(s.chosen, func(id int32) bool { return !likely(id) })
}

// keepSigma forbids tokens whose logits are more than TopNSigma standard deviations below the best one (Tang
// et al. 2024).
func (s *Sampler) keepSigma(uint64) {
	if len(s.chosen) < 2 {
		return
	}
	top, deviation := s.spread()
	least := top - float64(float64(s.p.TopNSigma)*deviation)
	for _, id := range s.chosen {
		if float64(s.logits[id]) < least {
			s.logits[id] = float32(math.Inf(-1))
		}
	}
}

// spread is the largest logit, and the standard deviation of the possible ones.
func (s *Sampler) spread() (top, deviation float64) {
	top, n, sum := math.Inf(-1), 0.0, 0.0
	for _, id := range s.chosen {
		if x := float64(s.logits[id]); !math.IsInf(x, -1) {
			top, n, sum = max(top, x), n+1, sum+x
		}
	}
	mean, squares := sum/n, 0.0
	for _, id := range s.chosen {
		if x := float64(s.logits[id]); !math.IsInf(x, -1) {
			squares += float64((x - mean) * (x - mean))
		}
	}
	return top, math.Sqrt(squares / n)
}

// excludeTop is XTC (https://github.com/oobabooga/text-generation-webui/pull/6335). With XTCProbability, it
// drops all tokens of at least the threshold's probability except the least likely of them. random decides.
func (s *Sampler) excludeTop(random uint64) {
	if len(s.chosen) < 2 || float64(random>>11)/(1<<53) >= float64(s.p.XTCProbability) {
		return
	}
	total := s.weigh()
	last, n := int32(-1), 0
	likely := func(i int, id int32) bool {
		return share(s.weights[i], total, part(s.p.XTCThreshold)) >= 0 && !math.IsInf(float64(s.logits[id]), -1)
	}
	for i, id := range s.chosen {
		if likely(i, id) {
			if n++; last < 0 || s.logits[id] <= s.logits[last] { // of equal ones, the last
				last = id
			}
		}
	}
	if len(s.chosen)-n+1 < s.p.MinKeep {
		return
	}
	kept := s.chosen[:0]
	for i, id := range s.chosen {
		if id == last || !likely(i, id) {
			kept = append(kept, id)
		}
	}
	s.chosen = kept
}
