// Package sample chooses the next token from a model's logits.
//
// The steps come in the order of llama.cpp's default chain:
//
//	logit bias and mask → penalties → top-k → top-p → min-p → temperature → draw
//
// so top-p and min-p see the distribution before the temperature changes it. Temperature 0 picks the best
// logit after bias and penalties; of equal logits the lowest id. If another step is on (DRY, top-n-sigma,
// typical-p, XTC, dynamic temperature), or Params.Order has another order, the steps run one by one
// (chain.go). Mirostat replaces all steps except bias and temperature.
//
// The choice is a function of only the logits, the parameters, the accepted tokens, the seed and the number
// of the draw (with mirostat, of the earlier choices, too). Every operation on floats is a single IEEE
// operation (no fused multiply-add, no library function), the weights of tokens are integers whose sums do
// not depend on their order, and the random numbers are a hash of seed and draw. A device that follows the
// same steps picks the same tokens.
package sample

import (
	"math"
	"slices"
)

// smallest is the smallest magnitude of a non-zero logit. It keeps differences of logits from being denormal,
// which GPUs may flush to zero.
const smallest = 0x1p-100

// bias is one entry of Params.LogitBias.
type bias struct {
	id  int32
	add float32
}

// Sampler samples one sequence. It is not safe for concurrent use.
type Sampler struct {
	p      Params
	biases []bias
	recent recent
	draws  uint64 // calls of Next since Reset
	steps  []Step // to be run one by one; nil: filter and draw have the same effect
	dry    *dry   // nil: no effect
	mu     float64

	// Derived from p once, so that no step divides or computes a logarithm.
	invTemperature, invRepeat, logMinP float32
	topP                               uint64 // p.TopP in units of 2^-32

	mask   []uint32  // of Allow
	logits []float32 // after bias and penalties
	keys   []float32 // the ranking of ids: the logits, or the scores of typical-p
	heap   []int32   // ids, largest key first
	chosen []int32   // remaining ids

	// In a chain, the probability of a chosen token is proportional to exp(scale · logit).
	scale   float64
	scores  []float32
	weights []uint64 // of the chosen ids
	ends    []float32

	last choice // how the last Next picked
}

// New checks the parameters and returns a Sampler without accepted tokens.
func New(p Params) (*Sampler, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	p, steps := p.arranged()
	s := &Sampler{
		steps:     steps,
		p:         p,
		recent:    recent{limit: p.RepeatLastN},
		invRepeat: 1 / p.RepeatPenalty,
		topP:      part(p.TopP),
		logMinP:   float32(math.Log(float64(p.MinP))), // -Inf when off
	}
	if p.Temperature != 0 {
		s.invTemperature = 1 / p.Temperature
	}
	for id, add := range p.LogitBias {
		s.biases = append(s.biases, bias{id, add})
	}
	slices.SortFunc(s.biases, func(a, b bias) int { return int(a.id) - int(b.id) })
	if slices.Contains(steps, StepDRY) {
		var err error
		if s.dry, err = newDRY(&p); err != nil {
			return nil, err
		}
	}
	s.mu = s.firstMu()
	return s, nil
}

// Accept tells the sampler which token the sequence continues with, for the
// penalties. Tokens of the prompt may be accepted too.
func (s *Sampler) Accept(id int32) {
	s.recent.add(id)
	s.dry.accept(id)
}

// Allow restricts the tokens that Next returns from now on: one bit per token, token 0 is the lowest bit of
// the first word. Tokens after the last word are not allowed; nil allows all.
func (s *Sampler) Allow(mask []uint32) { s.mask = mask }

// Reset drops the accepted tokens and restarts the random numbers.
func (s *Sampler) Reset() {
	s.recent.clear()
	s.dry.clear()
	s.draws, s.mu = 0, s.firstMu()
}

// Next returns the id of the next token, and does not accept it. logits has one value per token of the
// vocabulary, and is not changed. NaN counts as -Inf, +Inf as the largest float, and numbers within 2^-100 of
// zero as zero. The result is -1 if no logit is above -Inf. Biases and accepted tokens outside the vocabulary
// have no effect. After the first call it does not allocate while the vocabulary's size stays the same.
func (s *Sampler) Next(logits []float32) int32 {
	draw := s.draws
	s.draws++
	s.last = choice{}
	if s.plain() {
		if best := argmax(logits); best >= 0 && settle(logits[best]) == logits[best] && logits[best] != 0 {
			return best
		}
	}
	s.load(logits)
	s.endLater(draw)
	if s.steps != nil {
		return s.chain(draw)
	}
	s.penalise()
	best := argmax(s.logits)
	if best < 0 || s.p.Temperature == 0 {
		return best
	}
	top := s.logits[best]
	s.filter(top)
	s.last = choice{drawn: true, top: top}
	return s.draw(top, random(s.p.Seed, draw))
}

// plain says whether the next token is simply the one with the largest logit. Then the logits need no copy,
// unless the largest one is a value that settle changes.
func (s *Sampler) plain() bool {
	return s.p.Temperature == 0 && len(s.biases) == 0 && s.mask == nil && !s.p.penalises() && s.steps == nil && len(s.p.Ends) == 0
}

// load copies the logits without NaN and +Inf and adds the biases.
func (s *Sampler) load(logits []float32) {
	s.logits = append(s.logits[:0], logits...)
	for _, b := range s.biases {
		if int(b.id) < len(logits) {
			s.logits[b.id] += b.add
		}
	}
	for i, x := range s.logits {
		s.logits[i] = settle(x)
	}
	if s.mask != nil {
		s.forbid()
	}
}

// forbid keeps only the tokens of the mask.
func (s *Sampler) forbid() {
	never := float32(math.Inf(-1))
	for i := 0; i < len(s.logits); i += 32 {
		word := uint32(0)
		if i/32 < len(s.mask) {
			word = s.mask[i/32]
		}
		if word == math.MaxUint32 {
			continue
		}
		for j := i; j < min(i+32, len(s.logits)); j++ {
			if word>>(j-i)&1 == 0 {
				s.logits[j] = never
			}
		}
	}
}

// early says whether the draw is one at which the text must not end.
func (s *Sampler) early(draw uint64) bool {
	return len(s.p.Ends) > 0 && draw < uint64(s.p.MinTokens)
}

// endLater forbids the ends of a text that is too short, unless nothing else is possible, for instance at the
// end of a grammar.
func (s *Sampler) endLater(draw uint64) {
	if !s.early(draw) {
		return
	}
	s.ends = s.ends[:0]
	for _, id := range s.p.Ends {
		if id >= 0 && int(id) < len(s.logits) {
			s.ends = append(s.ends, s.logits[id])
			s.logits[id] = float32(math.Inf(-1))
		}
	}
	if argmax(s.logits) >= 0 {
		return
	}
	for i := len(s.p.Ends) - 1; i >= 0; i-- { // backwards, as an id may occur twice
		if id := s.p.Ends[i]; id >= 0 && int(id) < len(s.logits) {
			s.logits[id] = s.ends[len(s.ends)-1]
			s.ends = s.ends[:len(s.ends)-1]
		}
	}
}

// penalise lowers the logits of recent tokens.
func (s *Sampler) penalise() {
	if !s.p.penalises() {
		return
	}
	for _, o := range s.recent.seen {
		if int(o.id) >= len(s.logits) {
			continue
		}
		x := s.logits[o.id]
		if x <= 0 {
			x = x * s.p.RepeatPenalty
		} else {
			x = x * s.invRepeat
		}
		x -= float32(float32(o.count)*s.p.FrequencyPenalty) + s.p.PresencePenalty
		s.logits[o.id] = settle(x)
	}
}

// settle is a logit as it is compared.
func settle(x float32) float32 {
	switch {
	case x != x:
		return float32(math.Inf(-1))
	case x > math.MaxFloat32:
		return math.MaxFloat32
	case -smallest < x && x < smallest:
		return 0
	}
	return x
}

// argmax returns the index of the largest value above -Inf, the first of equals,
// or -1.
func argmax(x []float32) int32 {
	best, at := float32(math.Inf(-1)), int32(-1)
	for i, v := range x {
		if v > best {
			best, at = v, int32(i)
		}
	}
	return at
}
