package sample

import "math"

// Mirostat (Basu et al. 2021) keeps the surprise of the text's tokens near a target: a token's
// surprise is how many bits it takes, and mu is the most that the next one may have. It
// follows what was drawn, so it is a part of the sampler's state: choices are made one after
// the other, also after guesses.

// mirostatTop is how many of the likeliest tokens version 1 estimates the vocabulary by.
const mirostatTop = 100

// firstMu is mu before the first token.
func (s *Sampler) firstMu() float64 { return float64(2 * float64(s.p.MirostatTau)) }

// mirostat drops tokens that would surprise too much, draws, and learns.
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

// keepSurprise leaves tokens of at most mu bits, at least the best one: version 2.
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

// zipf is how many tokens version 1 leaves: it takes the likeliest ones for a Zipf distribution
// of some exponent, and that many have mu bits of surprise.
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
	if squares == 0 { // there is one token
		return 1
	}
	exponent, n := products/squares, float64(len(s.logits))
	// k to the power of the exponent is epsilon 2^mu / (1 - n^-epsilon), with its limit at 0.
	epsilon := exponent - 1
	ratio := 1 / wideLog(n)
	if math.Abs(epsilon) > 1e-6 {
		ratio = epsilon / (1 - wideExp(-float64(epsilon*wideLog(n))))
	}
	power := wideLog(ratio) + float64(s.mu*math.Ln2)
	switch {
	case power <= 0:
		return 1
	case exponent == 0: // all are as likely
		return len(s.chosen)
	}
	return int(min(wideExp(power/exponent), float64(len(s.chosen))))
}
