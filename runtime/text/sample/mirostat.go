package sample

import "math"

// Mirostat (Basu et al. 2021) keeps the surprise of tokens near a target. A token's surprise is -log2 of its
// probability, and mu bounds that of the next token. mu depends on earlier draws, so it is part of the
// sampler's state, and draws are made one after the other, also with drafts.

// mirostatTop is how many of the most likely tokens version 1 uses to estimate the distribution.
const mirostatTop = 100

// firstMu is mu before the first token.
func (s *Sampler) firstMu() float64 { return float64(2 * float64(s.p.MirostatTau)) }

// mirostat drops tokens with too much surprise, draws, and updates mu.
func (s *Sampler) mirostat(u uint64) int32 {
	if s.p.Mirostat == 1 {
		s.keepBest(s.zipf())
	} else {
		s.keepSurprise()
	}
	id := s.drawWeighed(u)
	top := s.logits[s.best()]
	_, logZ := s.entropy(top)
	surprise := (logZ - s.below(id, top)) / math.Ln2
	s.mu -= float64(float64(s.p.MirostatEta) * (surprise - float64(s.p.MirostatTau)))
	return id
}

// keepSurprise keeps tokens of at most mu bits, and at least the best one: version 2.
func (s *Sampler) keepSurprise() {
	best := s.best()
	top := s.logits[best]
	_, logZ := s.entropy(top)
	kept := s.chosen[:0]
	for _, id := range s.chosen {
		if (logZ-s.below(id, top))/math.Ln2 <= s.mu {
			kept = append(kept, id)
		}
	}
	if s.chosen = kept; len(kept) == 0 {
		s.chosen = append(kept, best)
	}
}

// zipf is how many tokens version 1 keeps: it fits a Zipf distribution to the most likely tokens, in which
// that many tokens have at most mu bits.
func (s *Sampler) zipf() int {
	s.heap = append(s.heap[:0], s.chosen...)
	s.order(s.logits)
	id := s.pop()
	top := s.logits[id]
	before, products, squares := 0.0, 0.0, 0.0
	for i := 1.0; i < mirostatTop && len(s.heap) > 0; i++ {
		x := s.below(s.pop(), top)
		if math.IsInf(x, -1) {
			break
		}
		t := wideLog((i + 1) / i)
		products += float64(t * (before - x))
		squares += float64(t * t)
		before = x
	}
	if squares == 0 { // a single token
		return 1
	}
	exponent, n := products/squares, float64(len(s.logits))
	// k^exponent = epsilon 2^mu / (1 - n^-epsilon), with its limit at epsilon = 0.
	epsilon := exponent - 1
	ratio := 1 / wideLog(n)
	if math.Abs(epsilon) > 1e-6 {
		ratio = epsilon / (1 - wideExp(-float64(epsilon*wideLog(n))))
	}
	power := wideLog(ratio) + float64(s.mu*math.Ln2)
	switch {
	case power <= 0:
		return 1
	case exponent == 0: // all tokens are equally likely
		return len(s.chosen)
	}
	return int(min(wideExp(power/exponent), float64(len(s.chosen))))
}
