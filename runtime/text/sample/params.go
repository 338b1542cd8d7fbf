package sample

import (
	"fmt"
	"math"
)

// Params is the parameters of sampling. Off switches every step off. A device can pick in the sampler's place
// unless a parameter of the second group has an effect, or Order changes the order of the steps of the first
// group.
type Params struct {
	Temperature      float32           // 0: greedy, else minTemperature to maxTemperature
	TopK             int               // keep the K best tokens; 0: off
	TopP             float32           // keep the fewest best tokens with this total probability; 1: off
	MinP             float32           // keep tokens with at least this fraction of the best token's probability; 0: off
	RepeatPenalty    float32           // divides positive logits of recent tokens, multiplies negative ones; 1: off
	PresencePenalty  float32           // subtracted from logits of recent tokens; 0: off
	FrequencyPenalty float32           // subtracted for every recent occurrence; 0: off
	RepeatLastN      int               // number of accepted tokens that count as recent; -1: all
	Seed             uint64            // of the random numbers
	LogitBias        map[int32]float32 // added to logits by token id; -Inf forbids a token

	TypicalP         float32 // keep the tokens whose surprise is nearest to the entropy, with this total probability; 0 or 1: off
	TopNSigma        float32 // keep logits less than this many standard deviations below the best one; 0 or less: off
	XTCProbability   float32 // probability of XTC at each token; 0: off
	XTCThreshold     float32 // XTC drops all tokens of at least this probability except the least likely one; above 0.5: off
	DynatempRange    float32 // the temperature varies by up to this much, with the entropy; 0: off
	DynatempExponent float32 // exponent of the normalised entropy; 1: linear
	DRYMultiplier    float32 // subtracted from a token that continues a repetition …
	DRYBase          float32 // … times this to the power of the repetition's length minus the allowed one
	DRYAllowedLength int     // length of a repetition without a penalty, in tokens
	DRYLastN         int     // number of accepted tokens that are examined; -1: all, 0: off
	DRYBreakers      []string
	Mirostat         int     // version of mirostat, 1 or 2, which picks after the temperature in place of all other steps; 0: off
	MirostatTau      float32 // target surprise, in bits
	MirostatEta      float32 // rate of learning
	MinKeep          int     // top-p, min-p, typical-p and XTC keep at least this many tokens; 0 means 1
	Order            []Step  // of the steps; nil: DefaultOrder; a step that is missing is off

	MinTokens int     // none of the first tokens, up to this number, is one of Ends
	Ends      []int32 // tokens that end the text

	// Vocabulary gives the texts of tokens, for DRYBreakers: texts at which a repetition ends.
	Vocabulary Vocabulary
}

// The limits keep all intermediate values finite, and the work per token bounded.
const (
	minTemperature = 1e-4
	maxTemperature = 1e4
	maxLastN       = 1 << 20
	maxScale       = 1e4 // of ranges, exponents, multipliers, bases and rates
)

// Limits on Params.DRYBreakers. Of a longer text only the beginning counts, as in llama.cpp.
const (
	MaxDRYBreakers = 64
	maxBreaker     = 40 // bytes
)

// Off returns the parameters of plain greedy sampling. Parameters that have an effect only with others have
// llama.cpp's defaults.
func Off() Params {
	return Params{
		TopP: 1, RepeatPenalty: 1, RepeatLastN: 64,
		TypicalP: 1, TopNSigma: -1, XTCThreshold: 0.1, DynatempExponent: 1,
		DRYBase: 1.75, DRYAllowedLength: 2, DRYLastN: -1, DRYBreakers: []string{"\n", ":", "\"", "*"},
		MirostatTau: 5, MirostatEta: 0.1,
	}
}

// EndsOf lists the tokens of a vocabulary that end a text, for Params.Ends.
func EndsOf(vocab int, ends func(id int32) bool) (ids []int32) {
	for id := range int32(vocab) {
		if ends(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// limit is the range of a parameter.
type limit struct {
	name        string
	value       any // int or float32
	least, most float64
	hint        string // advice about the range
}

// check fails for a value out of the range.
func (l *limit) check() error {
	var x float64
	switch v := l.value.(type) {
	case int:
		x = float64(v)
	case float32:
		x = float64(v)
	}
	if x >= l.least && x <= l.most {
		return nil
	}
	return fmt.Errorf("%s is %v, expected %.0f to %.0f%s", l.name, l.value, l.least, l.most, l.hint)
}

// Check reports the first parameter that is out of range.
func (p *Params) Check() error {
	switch {
	case p.Temperature != 0 && !(p.Temperature >= minTemperature && p.Temperature <= maxTemperature):
		return fmt.Errorf("temperature is %v, expected 0 (greedy) or %v to %v", p.Temperature, minTemperature, maxTemperature)
	case p.TopK < 0:
		return fmt.Errorf("top-k is %d, expected 0 (off) or more", p.TopK)
	case !(p.TopP > 0 && p.TopP <= 1):
		return fmt.Errorf("top-p is %v, expected more than 0 and at most 1 (off)", p.TopP)
	case !(p.RepeatPenalty > 0) || !finite(p.RepeatPenalty):
		return fmt.Errorf("repeat penalty is %v, expected a positive number (1 = off)", p.RepeatPenalty)
	case !finite(p.PresencePenalty):
		return fmt.Errorf("presence penalty is %v, expected a number (0 = off)", p.PresencePenalty)
	case !finite(p.FrequencyPenalty):
		return fmt.Errorf("frequency penalty is %v, expected a number (0 = off)", p.FrequencyPenalty)
	}
	for _, l := range []limit{
		{"min-p", p.MinP, 0, 1, " (0 = off)"},
		{"repeat-last-n", p.RepeatLastN, -1, maxLastN, " (-1 = all)"},
		{"typical-p", p.TypicalP, 0, 1, " (1 = off)"},
		{"top-n-sigma", p.TopNSigma, -1, maxScale, " (-1 = off)"},
		{"xtc-probability", p.XTCProbability, 0, 1, " (0 = off)"},
		{"xtc-threshold", p.XTCThreshold, 0, 1, " (above 0.5 = off)"},
		{"dynatemp-range", p.DynatempRange, 0, maxScale, " (0 = off)"},
		{"dynatemp-exponent", p.DynatempExponent, 0, maxScale, ""},
		{"dry-multiplier", p.DRYMultiplier, 0, maxScale, " (0 = off)"},
		{"dry-base", p.DRYBase, p.leastBase(), maxScale, ""},
		{"dry-allowed-length", p.DRYAllowedLength, 0, maxLastN, ""},
		{"dry-penalty-last-n", p.DRYLastN, -1, maxLastN, " (-1 = all, 0 = off)"},
		{"number of dry-sequence-breakers", len(p.DRYBreakers), 0, MaxDRYBreakers, ""},
		{"mirostat", p.Mirostat, 0, 2, " (0 = off)"},
		{"mirostat-tau", p.MirostatTau, 0, maxScale, ""},
		{"mirostat-eta", p.MirostatEta, 0, maxScale, ""},
		{"min-keep", p.MinKeep, 0, math.MaxInt32, ""},
		{"min-tokens", p.MinTokens, 0, math.MaxInt32, ""},
		{"number of samplers", len(p.Order), 0, maxSteps, ""},
	} {
		if err := l.check(); err != nil {
			return err
		}
	}
	return p.checkTokens()
}

// leastBase is the least DRYBase: 1, or 0 while it has no effect.
func (p *Params) leastBase() float64 {
	if p.DRYMultiplier == 0 {
		return 0
	}
	return 1
}

// checkTokens checks biases and steps.
func (p *Params) checkTokens() error {
	for id, bias := range p.LogitBias {
		if id < 0 {
			return fmt.Errorf("logit bias for token %d, expected an id of 0 or more", id)
		}
		if bias != bias || math.IsInf(float64(bias), 1) {
			return fmt.Errorf("logit bias of token %d is %v, expected a number or -Inf", id, bias)
		}
	}
	for _, s := range p.Order {
		if int(s) >= len(stepNames) {
			return fmt.Errorf("samplers have %v, which is none", s)
		}
	}
	return nil
}

// penalises reports whether recent tokens have an effect.
func (p *Params) penalises() bool {
	return p.RepeatPenalty != 1 || p.PresencePenalty != 0 || p.FrequencyPenalty != 0
}

func finite(x float32) bool { return x-x == 0 }
