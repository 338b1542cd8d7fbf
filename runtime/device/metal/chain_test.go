package metal_test

import (
	"errors"
	"fmt"
	"slices"

	"mla/runtime/device"
	"mla/runtime/device/metal"
	"mla/runtime/device/reference"
	"mla/runtime/sample"
)

// chainTokens is how many tokens the cases below pick.
const chainTokens = 12

// picks are the parameters that chains are tried with.
func picks() []sample.Params {
	greedy, mixed := sample.Off(), sample.Off()
	mixed.Temperature, mixed.TopK, mixed.TopP, mixed.MinP, mixed.Seed = 1.5, 40, 0.95, 0.01, 11
	mixed.RepeatPenalty, mixed.RepeatLastN = 1.2, 8
	mixed.LogitBias = map[int32]float32{3: 1, 4: -2}
	return []sample.Params{greedy, mixed}
}

// chains picks tokens on the GPU in units of several sizes, and wants those that
// the host picks from the same runner's logits.
func chains(replay metal.Replay) func(string) error {
	return func(lib string) error {
		return with(lib, tiny, tinyConfig, metal.Options{Replay: replay}, func(r device.Runner) error {
			s, ok := r.(device.Sampler)
			if !ok {
				return errors.New("the runner picks no tokens")
			}
			for _, p := range picks() {
				want, err := hostPicks(r, p)
				if err != nil {
					return err
				}
				for _, unit := range []int{1, 2, 5} {
					got, err := gpuPicks(s, p, unit)
					if err != nil {
						return fmt.Errorf("units of %d: %w", unit, err)
					}
					if !slices.Equal(got, want) {
						return fmt.Errorf("units of %d: picked %d; expected %d with %+v", unit, got, want, p)
					}
				}
				if err := crowded(s, p, want); err != nil {
					return fmt.Errorf("more units than fit: %w", err)
				}
			}
			return nil
		})
	}
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

// gpuPicks keeps two units in flight, and leaves the second behind.
func gpuPicks(r device.Sampler, p sample.Params, unit int) (tokens []int32, err error) {
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

// crowded asks for more units than can be in flight before it fetches a token.
func crowded(r device.Sampler, p sample.Params, want []int32) error {
	s, _, err := begin(r, p)
	if err != nil {
		return err
	}
	if err := r.Begin(s.Sampling()); err != nil {
		return err
	}
	for i := range 2 * metal.Ring {
		if err := r.Ahead(1); err != nil {
			return err
		}
		if n := metal.InFlight(r); n != min(i+1, metal.Ring) {
			return fmt.Errorf("%d units are in flight; expected %d", n, min(i+1, metal.Ring))
		}
	}
	for i := range 2 * metal.Ring {
		token, err := r.Next()
		if err != nil {
			return err
		}
		if token != want[i] {
			return fmt.Errorf("token %d is %d; expected %d", i, token, want[i])
		}
	}
	return r.End()
}

// misuse calls what cannot be, ends chains with tokens in flight, and wants the
// runner to go on.
func misuse(lib string) error {
	return with(lib, tiny, device.Config{Context: 8, KV: tinyConfig.KV}, metal.Options{}, func(r device.Runner) error {
		d := r.(device.Sampler)
		s, _, err := begin(d, sample.Off())
		if err != nil {
			return err
		}
		if _, err := d.Next(); err == nil {
			return errors.New("a token without a chain")
		}
		if err := d.Ahead(1); err == nil {
			return errors.New("ahead of no chain")
		}
		if err := d.Begin(s.Sampling()); err != nil {
			return err
		}
		if _, err := d.Next(); err == nil {
			return errors.New("a token that was not asked for")
		}
		for _, n := range []int{0, -1, device.MaxAhead + 1, 7} { // 3 tokens were run: 5 more fit, and the last is not run
			if err := d.Ahead(n); err == nil {
				return fmt.Errorf("%d tokens ahead: no error", n)
			}
		}
		if err := errors.Join(d.Ahead(4), d.Ahead(2)); err != nil {
			return err
		}
		if err := d.Ahead(1); err == nil {
			return errors.New("a token beyond the context")
		}
		if _, err := d.Replay(reference.Step(1, 0), false); err != nil { // ends the chain
			return err
		}
		if _, err := d.Next(); err == nil {
			return errors.New("a token of a chain that a replay has ended")
		}
		if err := d.Begin(s.Sampling()); err == nil {
			return errors.New("a chain begins without logits")
		}
		window := s.Sampling()
		window.Window = 1 << 20
		if s, _, err = begin(d, sample.Off()); err != nil {
			return err
		}
		if err := d.Begin(window); !errors.Is(err, device.ErrSampling) {
			return fmt.Errorf("a long window: %w", err)
		}
		if err := errors.Join(d.Begin(s.Sampling()), d.Ahead(3), d.Close()); err != nil { // with tokens in flight
			return err
		}
		if err := d.Begin(s.Sampling()); err == nil {
			return errors.New("a chain of a closed runner")
		}
		return d.End()
	})
}

// lostChain loses a unit with two more in flight, and wants its error from all
// that follows.
func lostChain(lib string) error {
	return with(lib, tiny, tinyConfig, metal.Options{}, func(r device.Runner) error {
		d := r.(device.Sampler)
		s, _, err := begin(d, sample.Off())
		if err != nil {
			return err
		}
		if err := errors.Join(d.Begin(s.Sampling()), d.Ahead(2), d.Ahead(2), d.Ahead(2)); err != nil {
			return err
		}
		_, first := d.Next()
		_, next := d.Next()
		if first == nil || next == nil || d.End() == nil || d.Begin(s.Sampling()) == nil {
			return nil // which the test takes for a missing error
		}
		return first
	})
}

// noSampler has a runner whose sampler could not be made: it only cannot pick.
func noSampler(lib string) error {
	return with(lib, tiny, tinyConfig, metal.Options{}, func(r device.Runner) error {
		d := r.(device.Sampler)
		s, _, err := begin(d, sample.Off())
		if err != nil {
			return err
		}
		if err := d.Begin(s.Sampling()); !errors.Is(err, device.ErrSampling) {
			return fmt.Errorf("a chain without a sampler: %w", err)
		}
		_, err = r.Replay(reference.Step(1, 3), true)
		return err
	})
}
