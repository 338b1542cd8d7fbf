package main

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"

	"mla/runtime/sample"
)

// sampling holds the flags that say how tokens are picked.
type sampling struct {
	params sample.Params
	seed   uint64
	stops  []string
}

func newSampling(f *flags) *sampling {
	s := &sampling{params: sample.Off()}
	f.Var(number(&s.params.Temperature, 0.8), "temp", "`temperature`; 0: always the most likely token")
	f.IntVar(&s.params.TopK, "top-k", 40, "sample among the K most likely tokens; 0: off")
	f.Var(number(&s.params.TopP, 0.95), "top-p", "sample among the likeliest tokens of this `probability` together; 1: off")
	f.Var(number(&s.params.MinP, 0.05), "min-p", "drop tokens below this `part` of the best one's probability; 0: off")
	f.Var(number(&s.params.RepeatPenalty, 1), "repeat-penalty", "`factor` by which tokens of the last 64 are made less likely; 1: off")
	f.Uint64Var(&s.seed, "seed", 0, "seed of the random numbers (default: another one every time)")
	f.Func("stop", "end the text before this `string`; may be given several times", func(text string) error {
		if text == "" {
			return errors.New("an empty string would end every text")
		}
		s.stops = append(s.stops, text)
		return nil
	})
	return s
}

// check completes the parameters and makes sure that they are in range.
func (s *sampling) check(f *flags) error {
	if !f.given("seed") {
		s.seed = rand.Uint64()
	}
	s.params.Seed = s.seed
	if _, err := sample.New(s.params); err != nil {
		return f.wrong("%v", err)
	}
	return nil
}

// sampler returns a new sampler.
func (s *sampling) sampler() (*sample.Sampler, error) { return sample.New(s.params) }

// float32Flag is a flag of the type that samplers compute with.
type float32Flag float32

// number sets the default of a float32 flag.
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
