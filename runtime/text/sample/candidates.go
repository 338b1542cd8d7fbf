package sample

import (
	"cmp"
	"slices"
)

// choice is how Next came to a token.
type choice struct {
	drawn   bool    // of the chosen ids; else it was the best one
	weighed bool    // by Sampler.weights; else by the logits less top, after the temperature
	top     float32 // the best logit
}

// Candidate is a token that Next could have returned, with its probability.
type Candidate struct {
	ID int32
	P  float64
}

// Candidates returns the n likeliest tokens among those that the last call of Next drew from, the
// likeliest first, equal ones by id; and the probability of the token id. All samplers have had
// their effect on them. A token that was taken without a draw has probability 1.
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

// candidates are the tokens that have a part of the draw.
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
