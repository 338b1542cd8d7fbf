package reference

import (
	"errors"
	"fmt"
	"slices"

	"mla/runtime/device"
	"mla/runtime/plan"
	"mla/runtime/text/sample"
)

const (
	// loopTokens is how many tokens Loops picks, after a prompt of 3.
	loopTokens = 13
	// LoopContext is the context that Loops needs, which has room for the steps that are discarded.
	LoopContext = 26
	// MisuseContext is the context that Misuse needs.
	MisuseContext = 8
)

// prompt is the text that Loops continues.
var prompt = []int32{5, 9, 2}

// picks returns the parameters with which tokens are picked.
func picks() []sample.Params {
	greedy, mixed := sample.Off(), repeated()
	mixed.RepeatPenalty, mixed.RepeatLastN = 1.2, 8
	return []sample.Params{greedy, mixed}
}

// repeated returns parameters with which a device can continue by itself.
func repeated() sample.Params {
	p := sample.Off()
	p.Temperature, p.TopK, p.TopP, p.MinP, p.Seed = 1.5, 40, 0.95, 0.01, 11
	p.LogitBias = map[int32]float32{3: 1, 4: -2}
	return p
}

// Loops lets the device continue by itself in units of several sizes, and requires the tokens that the host
// picks by the same runner's logits. more, if not nil, is called with the runner and those tokens for each
// set of parameters.
func Loops(r device.Runner, more func(d device.Picker, p sample.Params, want []int32) error) error {
	d, ok := r.(device.Picker)
	if !ok {
		return errors.New("the runner picks no tokens")
	}
	for _, p := range []sample.Params{sample.Off(), repeated()} {
		want, err := hostPicks(r, p)
		if err != nil {
			return err
		}
		for _, unit := range []int{1, 2, 5} {
			got, err := devicePicks(d, p, unit)
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
		if err := more(d, p, want); err != nil {
			return err
		}
	}
	return nil
}

// begin runs all but the last token of the prompt, and returns a sampler that has accepted the whole prompt.
func begin(r device.Runner, p sample.Params) (*sample.Sampler, error) {
	s, err := sample.New(p)
	for pos, token := range prompt {
		if err != nil {
			return nil, err
		}
		s.Accept(token)
		if pos < len(prompt)-1 {
			_, err = r.Replay(Rows(token, pos), nil)
		}
	}
	return s, err
}

// last returns the row of the prompt's last token.
func last() []plan.Row { return Rows(prompt[len(prompt)-1], len(prompt)-1) }

// BeginLoop runs the prompt and lets the device pick the next token, after which the device can continue.
func BeginLoop(r device.Picker, p sample.Params) (first int32, err error) {
	s, err := begin(r, p)
	if err != nil {
		return 0, err
	}
	pick, err := s.Sampling().Pick(0, 1<<20) // larger than any vocabulary
	if err != nil {
		return 0, err
	}
	picked, err := r.Pick(last(), []device.Pick{pick})
	if err != nil {
		return 0, err
	}
	return picked[0], nil
}

func hostPicks(r device.Runner, p sample.Params) (tokens []int32, err error) {
	s, err := begin(r, p)
	if err != nil {
		return nil, err
	}
	logits, err := r.Replay(last(), device.All(1))
	for pos := len(prompt); err == nil; pos++ {
		token := s.Next(logits)
		s.Accept(token)
		if tokens = append(tokens, token); len(tokens) == loopTokens {
			break
		}
		logits, err = r.Replay(Rows(token, pos), device.All(1))
	}
	return tokens, err
}

// devicePicks keeps two units in flight, and discards the second.
func devicePicks(r device.Picker, p sample.Params, unit int) (tokens []int32, err error) {
	first, err := BeginLoop(r, p)
	if err = errors.Join(err, r.Continue(unit)); err != nil {
		return nil, err
	}
	for tokens = []int32{first}; len(tokens) < loopTokens; {
		if (len(tokens)-1)%unit == 0 {
			if err := r.Continue(unit); err != nil {
				return nil, err
			}
		}
		picked, err := r.Next()
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, picked...)
	}
	return tokens, nil
}

// Misuse requests impossible steps, ends loops with steps in flight, and requires that the runner, whose
// context is MisuseContext, still works. It closes the runner.
func Misuse(r device.Runner) error {
	d, ok := r.(device.Picker)
	if !ok {
		return errors.New("the runner picks no tokens")
	}
	for _, step := range []func(device.Picker) error{outsideLoops, beyondContext, endedByReplay, endedByPick, closedAmid} {
		if err := step(d); err != nil {
			return err
		}
	}
	return nil
}

// outsideLoops requests steps before any pick, and tokens before any steps.
func outsideLoops(d device.Picker) error {
	if err := ended(d); err != nil {
		return err
	}
	if _, err := BeginLoop(d, sample.Off()); err != nil {
		return err
	}
	if _, err := d.Next(); err == nil {
		return errors.New("tokens of a step that was not asked for")
	}
	return nil
}

// beyondContext fills the context: 3 tokens were run, and 5 more fit.
func beyondContext(d device.Picker) error {
	for _, n := range []int{0, -1, device.MaxAhead + 1, 6} {
		if err := d.Continue(n); err == nil {
			return fmt.Errorf("%d steps ahead: no error", n)
		}
	}
	if err := errors.Join(d.Continue(4), d.Continue(1)); err != nil {
		return err
	}
	if err := d.Continue(1); err == nil {
		return errors.New("a step beyond the context")
	}
	return nil
}

// endedByReplay ends the loop of beyondContext with a token of another text.
func endedByReplay(d device.Picker) error {
	if _, err := d.Replay(Rows(1, 0), nil); err != nil {
		return err
	}
	return ended(d)
}

// ended requires that the device refuses to continue.
func ended(d device.Picker) error {
	if _, err := d.Next(); err == nil {
		return errors.New("tokens of a loop that has ended")
	}
	if err := d.Continue(1); err == nil {
		return errors.New("a loop goes on after its end")
	}
	return nil
}

// endedByPick begins a new loop with steps of the previous one in flight, whose tokens must not be returned.
func endedByPick(d device.Picker) error {
	first, err := BeginLoop(d, sample.Off())
	if err = errors.Join(err, d.Continue(3)); err != nil {
		return err
	}
	again, err := BeginLoop(d, sample.Off())
	if err != nil {
		return err
	}
	if again != first {
		return fmt.Errorf("a loop that began anew picked %d first; expected %d", again, first)
	}
	if _, err := d.Next(); err == nil {
		return errors.New("tokens of the loop before")
	}
	return nil
}

// closedAmid closes the runner with steps in flight.
func closedAmid(d device.Picker) error {
	if err := errors.Join(d.Continue(3), d.Close()); err != nil {
		return err
	}
	if err := ended(d); err != nil {
		return fmt.Errorf("a closed runner: %w", err)
	}
	return nil
}
