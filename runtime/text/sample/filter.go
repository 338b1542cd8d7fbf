package sample

import (
	"math/bits"
	"slices"
)

// filter fills s.chosen with the ids that top-k, top-p and min-p leave, in
// ascending order. top is the best logit; its token always stays.
func (s *Sampler) filter(top float32) {
	s.chosen = s.chosen[:0]
	topK := s.p.TopK > 0 && s.p.TopK < len(s.logits)
	if !topK && s.p.TopP == 1 {
		for i, x := range s.logits {
			if s.minP(x, top) {
				s.chosen = append(s.chosen, int32(i))
			}
		}
		return
	}
	s.heap = s.all(s.heap[:0])
	s.order(s.logits)
	if topK {
		for range s.p.TopK {
			s.chosen = append(s.chosen, s.pop())
		}
		s.cutTopP(top)
	} else {
		s.popTopP(top)
	}
	for len(s.chosen) > 1 && !s.minP(s.logits[s.chosen[len(s.chosen)-1]], top) {
		s.chosen = s.chosen[:len(s.chosen)-1]
	}
	slices.Sort(s.chosen)
}

// minP reports whether p(x) >= MinP * p(top), for the logits of two tokens.
func (s *Sampler) minP(x, top float32) bool { return x-top >= s.logMinP }

// popTopP moves the best ids from the heap until they have the share TopP of the total weight.
func (s *Sampler) popTopP(top float32) {
	var total, sum uint64
	for _, id := range s.heap {
		total += weight(s.logits[id] - top)
	}
	for len(s.heap) > 0 {
		id := s.pop()
		s.chosen = append(s.chosen, id)
		sum += weight(s.logits[id] - top)
		if share(sum, total, s.topP) >= 0 {
			return
		}
	}
}

// cutTopP does the same with the ids chosen by top-k, best first.
func (s *Sampler) cutTopP(top float32) {
	if s.p.TopP == 1 {
		return
	}
	var total, sum uint64
	for _, id := range s.chosen {
		total += weight(s.logits[id] - top)
	}
	for i, id := range s.chosen {
		sum += weight(s.logits[id] - top)
		if share(sum, total, s.topP) >= 0 {
			s.chosen = s.chosen[:i+1]
			return
		}
	}
}

// draw picks one of the chosen ids by its weight after the temperature. u is
// uniform over all 64-bit numbers.
func (s *Sampler) draw(top float32, u uint64) int32 {
	var total uint64
	for _, id := range s.chosen {
		total += weight((s.logits[id] - top) * s.invTemperature)
	}
	left, _ := bits.Mul64(u, total) // uniform over [0, total)
	for _, id := range s.chosen {
		w := weight((s.logits[id] - top) * s.invTemperature)
		if left < w {
			return id
		}
		left -= w
	}
	return -1 // unreachable: the weights add up to total
}

// before orders ids by their keys, the lower id first among equals.
func (s *Sampler) before(a, b int32) bool {
	x, y := s.keys[a], s.keys[b]
	return x > y || x == y && a < b
}

// all is all ids, appended to list.
func (s *Sampler) all(list []int32) []int32 {
	for i := range s.logits {
		list = append(list, int32(i))
	}
	return list
}

// order makes a heap of ids, with the largest key first.
func (s *Sampler) order(keys []float32) {
	s.keys = keys
	for i := len(s.heap)/2 - 1; i >= 0; i-- {
		s.sink(i)
	}
}

// pop removes the best id.
func (s *Sampler) pop() int32 {
	best, last := s.heap[0], len(s.heap)-1
	s.heap[0] = s.heap[last]
	s.heap = s.heap[:last]
	s.sink(0)
	return best
}

func (s *Sampler) sink(i int) {
	for {
		child := 2*i + 1
		if child >= len(s.heap) {
			return
		}
		if child+1 < len(s.heap) && s.before(s.heap[child+1], s.heap[child]) {
			child++
		}
		if !s.before(s.heap[child], s.heap[i]) {
			return
		}
		s.heap[i], s.heap[child] = s.heap[child], s.heap[i]
		i = child
	}
}
