package reference

import (
	"errors"
	"fmt"
	"slices"

	"mla/runtime/device"
	"mla/runtime/text/sample"
)

const (
	// chainTokens is how many tokens Chains picks, behind a prompt of 3.
	chainTokens = 13
	// ChainContext is the context that Chains needs: it leaves units behind.
	ChainContext = 26
	// MisuseContext is the context that Misuse needs.
	MisuseContext = 8
)

// picks are the parameters that chains are tried with.
func picks() []sample.Params {
	greedy, mixed := sample.Off(), sample.Off()
	mixed.Temperature, mixed.TopK, mixed.TopP, mixed.MinP, mixed.Seed = 1.5, 40, 0.95, 0.01, 11
	mixed.RepeatPenalty, mixed.RepeatLastN = 1.2, 8
	mixed.LogitBias = map[int32]float32{3: 1, 4: -2}
	return []sample.Params{greedy, mixed}
}

// Chains picks tokens on the device in units of several sizes, and wants those that
// the host picks from the same runner's logits. more, if not nil, gets them too, with
// each set of parameters.
func Chains(r device.Runner, more func(s device.Sampler, p sample.Params, want []int32) error) error {
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
			got, err := devicePicks(s, p, unit)
			if err != nil {
				return fmt.Errorf("units of %d: %w", unit, err)
			}
			if !slices.Equal(got, want) {
				return fmt.Errorf("units of %d: picked %d; expected %d with %+v", unit, got, want, p)
			}
		}
		if more == nil {
			continue
		}
		if err := more(s, p, want); err != nil {
			return err
		}
	}
	return nil
}

// BeginText runs a prompt and returns a sampler that knows it, and its logits.
func BeginText(r device.Runner, p sample.Params) (*sample.Sampler, []float32, error) {
	s, err := sample.New(p)
	if err != nil {
		return nil, nil, err
	}
	var logits []float32
	for pos, token := range []int32{5, 9, 2} {
		s.Accept(token)
		if logits, err = r.Replay(Rows(token, pos), device.AllIf(pos == 2, 1)); err != nil {
			return nil, nil, err
		}
	}
	return s, logits, nil
}

// BeginChain begins a chain behind a prompt.
func BeginChain(r device.Sampler, p sample.Params) error {
	s, _, err := BeginText(r, p)
	if err != nil {
		return err
	}
	return r.Begin(s.Sampling())
}

func hostPicks(r device.Runner, p sample.Params) (tokens []int32, err error) {
	s, logits, err := BeginText(r, p)
	for pos := 3; err == nil; pos++ {
		token := s.Next(logits)
		s.Accept(token)
		if tokens = append(tokens, token); len(tokens) == chainTokens {
			break
		}
		logits, err = r.Replay(Rows(token, pos), device.All(1))
	}
	return tokens, err
}

// devicePicks keeps two units in flight, and leaves the second behind.
func devicePicks(r device.Sampler, p sample.Params, unit int) (tokens []int32, err error) {
	if err := errors.Join(BeginChain(r, p), r.Ahead(unit)); err != nil {
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

// Misuse calls what cannot be, ends chains with tokens in flight, and wants the runner,
// whose context is MisuseContext, to go on. It closes it.
func Misuse(r device.Runner) error {
	d, ok := r.(device.Sampler)
	if !ok {
		return errors.New("the runner picks no tokens")
	}
	for _, step := range []func(device.Sampler) error{outsideChains, beyondContext, endedByReplay, endedByEnd, closedAmid} {
		if err := step(d); err != nil {
			return err
		}
	}
	return nil
}

// outsideChains asks for tokens before a chain has begun, and before any were asked for.
func outsideChains(d device.Sampler) error {
	s, _, err := BeginText(d, sample.Off())
	if err != nil {
		return err
	}
	if _, err := d.Next(); err == nil {
		return errors.New("a token without a chain")
	}
	if err := d.Ahead(1); err == nil {
		return errors.New("ahead of no chain")
	}
	long := s.Sampling()
	long.Window = 1 << 20
	if err := d.Begin(long); !errors.Is(err, device.ErrSampling) {
		return fmt.Errorf("a long window: %w", err)
	}
	if err := d.Begin(s.Sampling()); err != nil {
		return err
	}
	if _, err := d.Next(); err == nil {
		return errors.New("a token that was not asked for")
	}
	return nil
}

// beyondContext fills the context: 3 tokens were run, 5 more fit, and the last of a
// chain is not run.
func beyondContext(d device.Sampler) error {
	for _, n := range []int{0, -1, device.MaxAhead + 1, 7} {
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
	return nil
}

// endedByReplay ends the chain of beyondContext with a token of another text.
func endedByReplay(d device.Sampler) error {
	if _, err := d.Replay(Rows(1, 0), nil); err != nil {
		return err
	}
	return ended(d)
}

// ended wants that no chain is active and none can begin.
func ended(d device.Sampler) error {
	if _, err := d.Next(); err == nil {
		return errors.New("a token of a chain that has ended")
	}
	if err := d.Ahead(1); err == nil {
		return errors.New("a chain goes on after its end")
	}
	if err := d.Begin(&device.Sampling{}); err == nil {
		return errors.New("a chain begins without logits")
	}
	return nil
}

func endedByEnd(d device.Sampler) error {
	if err := errors.Join(BeginChain(d, sample.Off()), d.Ahead(3), d.End()); err != nil {
		return err
	}
	return ended(d)
}

// closedAmid closes the runner with tokens in flight.
func closedAmid(d device.Sampler) error {
	if err := errors.Join(BeginChain(d, sample.Off()), d.Ahead(3), d.Close()); err != nil {
		return err
	}
	if err := ended(d); err != nil {
		return fmt.Errorf("a closed runner: %w", err)
	}
	return d.End()
}
