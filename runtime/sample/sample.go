// Package sample chooses the next token from a model's logits.
//
// The steps come in the order of llama.cpp's default chain:
//
//	logit bias and mask → penalties → top-k → top-p → min-p → temperature → draw
//
// so top-p and min-p look at the distribution before the temperature changes it.
// Temperature 0 takes the best logit after bias and penalties; equal logits go to
// the lowest id.
//
// The choice is a function of the logits, the parameters, the accepted tokens,
// the seed and the number of the draw, and of nothing else: every operation on
// floats is one IEEE float32 operation (no fused multiply-add, no library
// function), the weights of tokens are integers whose sums do not depend on their
// order, and the random numbers are a hash of seed and draw. A sampler on another
// device that follows the same steps chooses the same tokens.
package sample

import (
	"fmt"
	"math"
	"slices"
)

// Params say how to sample. Off has the values that switch every step off.
type Params struct {
	Temperature      float32           // 0 = greedy, else minTemperature to maxTemperature
	TopK             int               // keep the K best; 0 = off
	TopP             float32           // keep the fewest best with this probability together; 1 = off
	MinP             float32           // keep those with at least this part of the best one's probability; 0 = off
	RepeatPenalty    float32           // divide positive logits of recent tokens, multiply negative ones; 1 = off
	PresencePenalty  float32           // subtract from logits of recent tokens; 0 = off
	FrequencyPenalty float32           // subtract for every recent occurrence; 0 = off
	RepeatLastN      int               // how many accepted tokens are recent; -1 = all
	Seed             uint64            // of the random numbers
	LogitBias        map[int32]float32 // add to logits by token id; -Inf forbids a token
}

// smallest is the smallest magnitude of a logit but zero. It keeps differences of
// logits from being denormal, which GPUs may take for zero.
const smallest = 0x1p-100

// The limits keep every intermediate value finite.
const (
	minTemperature = 1e-4
	maxTemperature = 1e4
	maxLastN       = 1 << 20
)

// Off returns the parameters of plain greedy sampling.
func Off() Params {
	return Params{TopP: 1, RepeatPenalty: 1, RepeatLastN: 64}
}

// check reports the first parameter that is out of range.
func (p *Params) check() error {
	switch {
	case p.Temperature != 0 && !(p.Temperature >= minTemperature && p.Temperature <= maxTemperature):
		return fmt.Errorf("temperature is %v, expected 0 (greedy) or %v to %v", p.Temperature, minTemperature, maxTemperature)
	case p.TopK < 0:
		return fmt.Errorf("top-k is %d, expected 0 (off) or more", p.TopK)
	case !(p.TopP > 0 && p.TopP <= 1):
		return fmt.Errorf("top-p is %v, expected more than 0 and at most 1 (off)", p.TopP)
	case !(p.MinP >= 0 && p.MinP <= 1):
		return fmt.Errorf("min-p is %v, expected 0 (off) to 1", p.MinP)
	case !(p.RepeatPenalty > 0) || !finite(p.RepeatPenalty):
		return fmt.Errorf("repeat penalty is %v, expected a positive number (1 = off)", p.RepeatPenalty)
	case !finite(p.PresencePenalty):
		return fmt.Errorf("presence penalty is %v, expected a number (0 = off)", p.PresencePenalty)
	case !finite(p.FrequencyPenalty):
		return fmt.Errorf("frequency penalty is %v, expected a number (0 = off)", p.FrequencyPenalty)
	case p.RepeatLastN < -1 || p.RepeatLastN > maxLastN:
		return fmt.Errorf("repeat-last-n is %d, expected -1 (all) to %d", p.RepeatLastN, maxLastN)
	}
	for id, bias := range p.LogitBias {
		if id < 0 {
			return fmt.Errorf("logit bias for token %d, expected an id of 0 or more", id)
		}
		if bias != bias || math.IsInf(float64(bias), 1) {
			return fmt.Errorf("logit bias of token %d is %v, expected a number or -Inf", id, bias)
		}
	}
	return nil
}

// penalises reports whether recent tokens have an effect.
func (p *Params) penalises() bool {
	return p.RepeatPenalty != 1 || p.PresencePenalty != 0 || p.FrequencyPenalty != 0
}

func finite(x float32) bool { return x-x == 0 }

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

	// Derived from p once, so that no step divides or takes a logarithm.
	invTemperature, invRepeat, logMinP float32
	topP                               uint64 // p.TopP in units of 2^-32

	mask   []uint32  // of Allow
	logits []float32 // after bias and penalties
	heap   []int32   // ids, best first
	chosen []int32   // ids that are left
}

// New checks the parameters and returns a Sampler without accepted tokens.
func New(p Params) (*Sampler, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	s := &Sampler{
		p:         p,
		recent:    recent{limit: p.RepeatLastN},
		invRepeat: 1 / p.RepeatPenalty,
		topP:      uint64(float64(p.TopP) * (1 << 32)),
		logMinP:   float32(math.Log(float64(p.MinP))), // -Inf when off
	}
	if p.Temperature != 0 {
		s.invTemperature = 1 / p.Temperature
	}
	for id, add := range p.LogitBias {
		s.biases = append(s.biases, bias{id, add})
	}
	slices.SortFunc(s.biases, func(a, b bias) int { return int(a.id) - int(b.id) })
	return s, nil
}

// Accept tells the sampler which token the sequence continues with, for the
// penalties. Tokens of the prompt may be accepted too.
func (s *Sampler) Accept(id int32) { s.recent.add(id) }

// Allow says which tokens Next may return from now on: a bit each, the lowest of the first
// word for token 0. Tokens behind the last word are not allowed; nil allows all.
func (s *Sampler) Allow(mask []uint32) { s.mask = mask }

// Reset forgets the accepted tokens and starts the random numbers again.
func (s *Sampler) Reset() {
	s.recent.clear()
	s.draws = 0
}

// Next returns the id of the next token, and does not accept it. logits has one
// value per token of the vocabulary and is not changed. NaN counts as -Inf, +Inf
// as the largest float, and what lies within 2^-100 of zero as zero; the result is
// -1 when no logit is above -Inf. Biases and accepted tokens outside the vocabulary
// have no effect. After the first call
// it allocates nothing as long as the vocabulary is the same.
func (s *Sampler) Next(logits []float32) int32 {
	draw := s.draws
	s.draws++
	if s.plain() {
		if best := argmax(logits); best >= 0 && settle(logits[best]) == logits[best] && logits[best] != 0 {
			return best
		}
	}
	s.load(logits)
	s.penalise()
	best := argmax(s.logits)
	if best < 0 || s.p.Temperature == 0 {
		return best
	}
	top := s.logits[best]
	s.filter(top)
	return s.draw(top, random(s.p.Seed, draw))
}

// plain says whether the next token is that of the largest logit, which then needs no copy
// unless it is one that settle changes or that others may be changed to.
func (s *Sampler) plain() bool {
	return s.p.Temperature == 0 && len(s.biases) == 0 && s.mask == nil && !s.p.penalises()
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

// forbid leaves only the tokens of the mask.
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

// settle gives a logit the value that it is compared by.
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
