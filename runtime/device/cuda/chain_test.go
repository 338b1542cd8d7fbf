package cuda_test

import (
	"errors"
	"fmt"
	"slices"

	"mla/runtime/device"
	"mla/runtime/device/reference"
	"mla/runtime/quant"
	"mla/runtime/sample"
)

// chainTokens is how many tokens the cases below pick, behind a prompt of 3, and
// chainContext has room for two units of 5 more.
const (
	chainTokens  = 13
	chainContext = 26
)

// picks are the parameters that chains are tried with.
func picks() []sample.Params {
	greedy, mixed := sample.Off(), sample.Off()
	mixed.Temperature, mixed.TopK, mixed.TopP, mixed.MinP, mixed.Seed = 1.5, 40, 0.95, 0.01, 11
	mixed.RepeatPenalty, mixed.RepeatLastN = 1.2, 8
	mixed.LogitBias = map[int32]float32{3: 1, 4: -2}
	return []sample.Params{greedy, mixed}
}

// chains picks tokens on the device in units of several sizes, and wants those that
// the host picks from the same runner's logits.
func chains(lib string) error {
	return with(lib, "youtu-tiny-F32", device.Config{Context: chainContext, KV: quant.F16}, func(r device.Runner) error {
		s := r.(device.Sampler)
		for _, p := range picks() {
			want, err := hostPicks(r, p)
			if err != nil {
				return err
			}
			for _, unit := range []int{1, 5} {
				got, err := devicePicks(s, p, unit)
				if err != nil {
					return fmt.Errorf("units of %d: %w", unit, err)
				}
				if !slices.Equal(got, want) {
					return fmt.Errorf("units of %d: picked %d; expected %d with %+v", unit, got, want, p)
				}
			}
		}
		return refusals(s)
	})
}

// refusals asks for what a chain cannot do.
func refusals(s device.Sampler) error {
	if err := s.Ahead(1); err == nil {
		return errors.New("a chain goes on after its end")
	}
	if _, err := s.Next(); err == nil {
		return errors.New("a token comes after the end")
	}
	if err := s.Begin(&device.Sampling{}); err == nil {
		return errors.New("a chain begins behind another one")
	}
	const last = 2 + chainTokens
	if _, err := s.Replay(reference.Step(3, last), true); err != nil {
		return err
	}
	wide := &device.Sampling{}
	wide.Window = 1 << 20
	if err := s.Begin(wide); !errors.Is(err, device.ErrSampling) {
		return fmt.Errorf("a window of %d: %w", wide.Window, err)
	}
	if err := s.Begin(&device.Sampling{}); err != nil {
		return err
	}
	if err := s.Ahead(chainContext - last + 1); err == nil {
		return errors.New("a chain leaves the context")
	}
	if err := s.Ahead(chainContext - last); err != nil {
		return err
	}
	_, err := s.Replay(reference.Step(3, 0), false) // ends the chain
	return err
}

// begin runs a prompt and returns a sampler that knows it, and its logits.
func begin(r device.Runner, p sample.Params) (*sample.Sampler, []float32, error) {
	s, err := sample.New(p)
	if err != nil {
		return nil, nil, err
	}
	var logits []float32
	for pos, token := range []int32{5, 9, 2} {
		s.Accept(token)
		if logits, err = r.Replay(reference.Step(token, pos), pos == 2); err != nil {
			return nil, nil, err
		}
	}
	return s, logits, nil
}

func hostPicks(r device.Runner, p sample.Params) (tokens []int32, err error) {
	s, logits, err := begin(r, p)
	for pos := 3; err == nil; pos++ {
		token := s.Next(logits)
		s.Accept(token)
		if tokens = append(tokens, token); len(tokens) == chainTokens {
			break
		}
		logits, err = r.Replay(reference.Step(token, pos), true)
	}
	return tokens, err
}

// devicePicks keeps two units in flight, and leaves the second behind.
func devicePicks(r device.Sampler, p sample.Params, unit int) (tokens []int32, err error) {
	s, _, err := begin(r, p)
	if err != nil {
		return nil, err
	}
	if err := r.Begin(s.Sampling()); err != nil {
		return nil, err
	}
	if err := r.Ahead(unit); err != nil {
		return nil, err
	}
	for len(tokens) < chainTokens {
		if len(tokens)%unit == 0 {
			if err := r.Ahead(unit); err != nil {
				return nil, err
			}
		}
		token, err := r.Next()
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, token)
	}
	return tokens, r.End()
}
