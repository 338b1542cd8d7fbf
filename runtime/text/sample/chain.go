package sample

import (
	"math"
	"math/bits"
	"slices"
)

// arranged returns the parameters without steps that the order leaves out, and the steps to be run one by
// one. The list is nil if filter and draw, and devices, have the same effect.
func (p Params) arranged() (Params, []Step) {
	if p.Mirostat != 0 {
		return p, []Step{StepTemperature}
	}
	order := p.Order
	if order == nil {
		order = DefaultOrder()
	}
	steps := slices.DeleteFunc(slices.Clone(order), func(s Step) bool { return !p.has(s) })
	if p.MinKeep > 1 || !slices.IsSortedFunc(steps, func(a, b Step) int { return int(a) - int(b) }) || len(slices.Compact(slices.Clone(steps))) < len(steps) ||
		slices.ContainsFunc(steps, func(s Step) bool { return !p.plainly(s) }) {
		return p, steps
	}
	return p.without(order), nil
}

// without switches off the plain steps that an order does not have.
func (p Params) without(order []Step) Params {
	lacks := func(s Step) bool { return !slices.Contains(order, s) }
	off := Off()
	if lacks(StepPenalties) {
		p.RepeatPenalty, p.PresencePenalty, p.FrequencyPenalty = off.RepeatPenalty, off.PresencePenalty, off.FrequencyPenalty
	}
	if lacks(StepTopK) {
		p.TopK = off.TopK
	}
	if lacks(StepTopP) {
		p.TopP = off.TopP
	}
	if lacks(StepMinP) {
		p.MinP = off.MinP
	}
	if lacks(StepTemperature) && p.Temperature != 0 { // temperature 0 picks the best, whatever the steps are
		p.Temperature = 1
	}
	return p
}

// has says whether a step has an effect.
func (p *Params) has(s Step) bool {
	switch s {
	case StepPenalties:
		return p.penalises() && p.RepeatLastN != 0
	case StepDRY:
		return p.DRYMultiplier > 0 && p.DRYLastN != 0
	case StepTopNSigma:
		return p.TopNSigma > 0
	case StepTopK:
		return p.TopK > 0
	case StepTypicalP:
		return p.TypicalP > 0 && p.TypicalP < 1
	case StepTopP:
		return p.TopP < 1
	case StepMinP:
		return p.MinP > 0
	case StepXTC:
		return p.XTCProbability > 0 && p.XTCThreshold <= 0.5
	}
	return p.Temperature != 1 || p.DynatempRange > 0
}

// plainly says whether filter and draw implement a step.
func (p *Params) plainly(s Step) bool {
	switch s {
	case StepPenalties, StepTopK, StepTopP, StepMinP:
		return true
	case StepTemperature:
		return p.DynatempRange == 0
	}
	return false
}

// doSteps implements the steps of a chain. random is a random number of the draw that no other step uses.
var doSteps = [...]func(s *Sampler, random uint64){
	StepPenalties:   func(s *Sampler, _ uint64) { s.flush(); s.penalise() },
	StepDRY:         func(s *Sampler, _ uint64) { s.flush(); s.dry.penalise(s.logits) },
	StepTopNSigma:   (*Sampler).keepSigma,
	StepTopK:        func(s *Sampler, _ uint64) { s.keepBest(s.p.TopK) },
	StepTypicalP:    (*Sampler).keepTypical,
	StepTopP:        (*Sampler).keepTopP,
	StepMinP:        (*Sampler).keepMinP,
	StepXTC:         (*Sampler).excludeTop,
	StepTemperature: (*Sampler).warm,
}

// chain runs the steps in their order, and draws. As in llama.cpp, impossible tokens stay among the chosen
// ones until a step drops them.
func (s *Sampler) chain(draw uint64) int32 {
	if !s.narrow(draw) {
		return -1
	}
	u := random(s.p.Seed, draw)
	switch {
	case s.p.Mirostat != 0:
		return s.mirostat(u)
	case s.p.Temperature == 0 && s.p.DynatempRange == 0:
		return s.best()
	}
	return s.drawWeighed(u)
}

// narrow runs the steps. False: no token is possible.
func (s *Sampler) narrow(draw uint64) bool {
	if argmax(s.logits) < 0 {
		return false
	}
	s.chosen, s.scale = s.all(s.chosen[:0]), 1
	for i, step := range s.steps {
		doSteps[step](s, random(mix(s.p.Seed^uint64(i+1)), draw))
		if math.IsInf(float64(s.logits[s.best()]), -1) { // penalties exceeded all floats
			return false
		}
	}
	return true
}

// best is the chosen token with the largest logit, the first of equal ones.
func (s *Sampler) best() int32 {
	best := s.chosen[0]
	for _, id := range s.chosen { // in ascending order
		if s.logits[id] > s.logits[best] {
			best = id
		}
	}
	return best
}

// below is the logarithm of a token's probability minus that of the best one.
func (s *Sampler) below(id int32, top float32) float64 {
	return float64((float64(s.logits[id]) - float64(top)) * s.scale)
}

// flush multiplies the logits by the scale, before a step that adds to them.
func (s *Sampler) flush() {
	if s.scale == 1 {
		return
	}
	for _, id := range s.chosen {
		if x := float64(s.logits[id]); !math.IsInf(x, -1) {
			s.logits[id] = settle(float32(max(float64(x*s.scale), -math.MaxFloat32)))
		}
	}
	s.scale = 1
}

// heaviest is the weight of the best token of a chain, so that sums of 2^28 tokens fit 64 bits. Tokens below
// 2^-36 of the best one weigh nothing.
const heaviest = 1 << 36

// weightOf is the weight of a chosen token if the best logit is top.
func (s *Sampler) weightOf(id int32, top float32) uint64 {
	return uint64(wideExp(s.below(id, top)) * heaviest)
}

// weigh sets the weights of the chosen tokens, proportional to their probabilities, and returns their sum.
// Sums are exact in any order.
func (s *Sampler) weigh() (total uint64) {
	top := s.logits[s.best()]
	s.weights = s.weights[:0]
	for _, id := range s.chosen {
		w := s.weightOf(id, top)
		s.weights = append(s.weights, w)
		total += w
	}
	return total
}

// drawWeighed picks one of the chosen tokens by its weight. u is uniform over all 64-bit
// numbers.
func (s *Sampler) drawWeighed(u uint64) int32 {
	s.last = choice{drawn: true, weighed: true}
	left, _ := bits.Mul64(u, s.weigh()) // uniform over [0, total)
	for i, w := range s.weights {
		if left < w {
			return s.chosen[i]
		}
		left -= w
	}
	return -1 // unreachable: the weights add up to total
}

// share compares weight/total with part (in units of 2^-32), without rounding: negative if less, positive if
// greater.
func share(weight, total, part uint64) int {
	haveHi, haveLo := bits.Mul64(weight, 1<<32)
	wantHi, wantLo := bits.Mul64(total, part)
	switch {
	case haveHi > wantHi, haveHi == wantHi && haveLo > wantLo:
		return 1
	case haveHi == wantHi && haveLo == wantLo:
		return 0
	}
	return -1
}

// part is a probability in units of 2^-32.
func part(p float32) uint64 { return uint64(float64(p) * (1 << 32)) }

// entropy returns the mean of x and ln Z for probabilities e^x / Z, where x is a logit minus the best one.
// The entropy is ln Z - mean.
func (s *Sampler) entropy(top float32) (mean, logZ float64) {
	var sum, moment float64
	for _, id := range s.chosen {
		x := s.below(id, top)
		if e := wideExp(x); e > 0 {
			sum += e
			moment += float64(e * x)
		}
	}
	return moment / sum, wideLog(sum)
}

// warm divides by the temperature. If the temperature has a range, it varies with the entropy
// (https://github.com/ggml-org/llama.cpp/pull/4972).
func (s *Sampler) warm(uint64) {
	t := float64(s.p.Temperature)
	if r := float64(s.p.DynatempRange); r > 0 {
		if len(s.chosen) < 2 {
			return
		}
		mean, logZ := s.entropy(s.logits[s.best()])
		full := max(0, min(1, (logZ-mean)/wideLog(float64(len(s.chosen)))))
		low := max(0, t-r)
		t = low + float64((t+r-low)*widePow(full, float64(s.p.DynatempExponent)))
	}
	if t < minTemperature {
		s.chosen = append(s.chosen[:0], s.best())
		return
	}
	s.scale /= min(t, maxTemperature)
}
