package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"mla/runtime/text/sample"
	"mla/runtime/text/tokenizer"
)

// sampling holds the flags about sampling.
type sampling struct {
	flags     *flags
	params    sample.Params
	seed      uint64
	stops     []string
	ignoreEOS bool
}

func newSampling(f *flags) *sampling {
	s := &sampling{flags: f, params: sample.Off()}
	p := &s.params
	f.Var(number(&p.Temperature, 0.8), "temp", "`temperature`: how far from the most likely token others are picked; 0: never")
	f.IntVar(&p.TopK, "top-k", 40, "sample among the `K` most likely tokens; 0 or -1: off")
	f.Var(number(&p.TopP, 0.95), "top-p", "sample among the likeliest tokens of this `probability` together; 1: off")
	f.Var(number(&p.MinP, 0.05), "min-p", "drop tokens below this `share` of the best one's probability; 0: off")
	f.Var(number(&p.RepeatPenalty, 1), "repeat-penalty", "`factor` by which recent tokens are made less likely; 1: off")
	f.Var(number(&p.PresencePenalty, 0), "presence-penalty", "`number` that is subtracted from the logits of recent tokens; 0: off")
	f.Var(number(&p.FrequencyPenalty, 0), "frequency-penalty", "`number` that is subtracted from the logits of recent tokens for each time that they came; 0: off")
	f.IntVar(&p.RepeatLastN, "repeat-last-n", p.RepeatLastN, "how many `tokens` are recent, for the three penalties; -1: all")
	s.stepFlags()
	f.Var(&biasFlag{s: s}, "logit-bias", "`token-id+bias` or token-id-bias adds a number to a token's logit, as in 15043+1; token-id-inf forbids it; may be given several times")
	f.BoolVar(&s.ignoreEOS, "ignore-eos", false, "never pick a token that ends the text")
	f.Uint64Var(&s.seed, "seed", 0, "`seed` of the random numbers (default: another one every time)")
	return s
}

// stopFlag adds -stop, for commands whose texts are not described by requests.
func (s *sampling) stopFlag() *sampling {
	s.flags.Func("stop", "end the text before this `string`; may be given several times", func(text string) error {
		if text == "" {
			return errors.New("an empty string would end every text")
		}
		s.stops = append(s.stops, text)
		return nil
	})
	return s
}

// repeated is a flag that may be given several times. values returns its values in order.
type repeated interface{ values() []string }

// biasFlag is the flag of logit biases.
type biasFlag struct {
	s     *sampling
	given []string
}

func (v *biasFlag) String() string { return "" }

func (v *biasFlag) Set(text string) error {
	v.given = append(v.given, text)
	return v.s.addBias(text)
}

func (v *biasFlag) values() []string { return v.given }

// addBias parses a token's id and its bias.
func (s *sampling) addBias(text string) error {
	at := strings.IndexAny(text, "+-")
	if at <= 0 {
		return errors.New("expected a token's id and a number with its sign, as in 15043-1.5")
	}
	id, err := strconv.ParseInt(text[:at], 10, 32)
	bias, wrong := strconv.ParseFloat(text[at:], 32)
	if err != nil || wrong != nil || bias != bias || math.IsInf(bias, 1) {
		return errors.New("expected a token's id and a number with its sign, as in 15043-1.5")
	}
	if s.params.LogitBias == nil {
		s.params.LogitBias = map[int32]float32{}
	}
	s.params.LogitBias[int32(id)] = float32(bias)
	return nil
}

// check completes the parameters and checks their ranges.
func (s *sampling) check(f *flags) error {
	if !f.given("seed") {
		s.seed = rand.Uint64()
	}
	s.params.Seed = s.seed
	if err := s.valid(); err != nil {
		return f.wrong("%v", err)
	}
	return nil
}

// valid returns an error for a parameter that is out of range.
func (s *sampling) valid() error {
	p := s.settled()
	return p.Check()
}

// settled returns the parameters with the special values of flags replaced.
func (s *sampling) settled() sample.Params {
	p := s.params
	if p.TopK == -1 { // off, as in other programs
		p.TopK = 0
	}
	return p
}

// of returns the parameters for a model with a tokeniser.
func (s *sampling) of(t *tokenizer.Tokenizer) sample.Params {
	p := s.settled()
	p.Vocabulary = t
	if !s.ignoreEOS {
		return p
	}
	p.LogitBias = maps.Clone(p.LogitBias)
	if p.LogitBias == nil {
		p.LogitBias = map[int32]float32{}
	}
	for _, id := range t.EOG() {
		p.LogitBias[id] = float32(math.Inf(-1))
	}
	return p
}

// float32Flag is a flag of the type with which samplers compute.
type float32Flag float32

// number returns a float32 flag with a default.
func number(p *float32, value float32) flag.Value {
	*p = value
	return (*float32Flag)(p)
}

func (v *float32Flag) String() string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(float64(*v), 'g', -1, 32)
}

func (v *float32Flag) Set(text string) error {
	x, err := strconv.ParseFloat(text, 32)
	if err != nil {
		return fmt.Errorf("%q is no number", text)
	}
	*v = float32Flag(x)
	return nil
}
