package sample

import (
	"cmp"
	"slices"
)

// choice is how Next has picked a token.
type choice struct {
	drawn   bool    // from the chosen ids; otherwise it was the best one
	weighed bool    // by Sampler.weights; otherwise by the logits minus top, after the temperature
	top     float32 // the best logit
}

// Candidate is a token that Next could have returned, with its probability.
type Candidate struct {
	ID int32
	P  float64
}

// Candidates returns the n most likely tokens of the distribution that the last Next drew from, after all
// samplers: most likely first, equal ones by id. p is the probability of the token id. A token that was
// picked without a draw has probability 1.
func (s *Sampler) Candidates(id int32, n int) (p float64, best []Candidate) {
	for _, c := range s.candidates(id) {
		if c.ID == id {
			p = c.P
		}
		at, _ := slices.BinarySearchFunc(best, c, func(a, b Candidate) int { return cmp.Or(cmp.Compare(b.P, a.P), cmp.Compare(a.ID, b.ID)) })
		if at < n {
			best = slices.Insert(best[:min(len(best), n-1)], at, c)
		}
	}
	return p, best
}

// candidates is the tokens that could have been drawn.
func (s *Sampler) candidates(id int32) []Candidate {
	if !s.last.drawn {
		return []Candidate{{id, 1}}
	}
	weightOf := func(i int) uint64 {
		if s.last.weighed {
			return s.weights[i]
		}
		return weight((s.logits[s.chosen[i]] - s.last.top) * s.invTemperature)
	}
	var total uint64
	for i := range s.chosen {
		total += weightOf(i)
	}
	list := make([]Candidate, 0, len(s.chosen))
	for i, id := range s.chosen {
		if w := weightOf(i); w > 0 {
			list = append(list, Candidate{id, float64(w) / float64(total)})
		}
	}
	return list
}
