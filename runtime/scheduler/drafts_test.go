package scheduler

import (
	"testing"
	"time"

	"mla/runtime/device"
	"mla/runtime/engine"
	"mla/runtime/plan"
	"mla/runtime/sample"
)

// TestWorth: of two requests that guess, the one whose guesses are wrong rests, tries again
// after a while, and rests again; the other one goes on.
func TestWorth(t *testing.T) {
	var p pays
	p.ran(2, 0, 2, 20*time.Millisecond)
	var good, bad worth
	tried, goodTried := 0, 0
	for range 4 * payRest {
		guesses, right := 0, 0
		g, b := good.now(), bad.now()
		if g {
			guesses, right, goodTried = guesses+3, 3, goodTried+1
		}
		if b {
			guesses, tried = guesses+3, tried+1
		}
		if guesses == 0 {
			continue
		}
		took := 20*time.Millisecond + time.Duration(guesses)*2*time.Millisecond
		guess, token := p.shares(2, guesses, took)
		if guess != 2*time.Millisecond || token != 10*time.Millisecond {
			t.Fatalf("a guess costs %v, a token %v", guess, token)
		}
		if g {
			good.ran(3, right, guess, token)
		}
		if b {
			bad.ran(3, 0, guess, token)
		}
	}
	if goodTried != 4*payRest {
		t.Errorf("guesses that are right were made %d times in %d", goodTried, 4*payRest)
	}
	if tried < 2*paySteps || tried > 5*paySteps {
		t.Errorf("guesses that are wrong were made %d times in %d", tried, 4*payRest)
	}
}

// TestWorthOfFew: what a request has not guessed is no round, and a guess that costs nothing
// is worth it.
func TestWorthOfFew(t *testing.T) {
	var w worth
	for range 10 * paySteps {
		w.ran(0, 0, time.Second, time.Millisecond)
	}
	for range 10 * paySteps {
		w.ran(3, 0, 0, time.Millisecond)
	}
	if !w.now() {
		t.Error("it rests")
	}
}

// known guesses what comes, or always something else.
type known struct {
	text  []int32
	wrong int32 // added to the guesses
}

func (k known) Propose(text []int32, n int) (out []int32) {
	for i := len(text); i < min(len(text)+min(n, 3), len(k.text)); i++ {
		out = append(out, (k.text[i]+k.wrong)%vocab)
	}
	return out
}

// TestDraftsOfOne: a request whose guesses are wrong stops making them, while another's go on.
func TestDraftsOfOne(t *testing.T) {
	m, runner := newModel(t, device.Config{Context: 600, Tables: 2, Width: 16})
	var clock time.Time
	runner.Logits = func(row plan.Row, _ uint64, out []float32) {
		clock = clock.Add(time.Millisecond)
		out[(int(row.Token)+1)%vocab] = 1
	}
	runner.After = func() { clock = clock.Add(10 * time.Millisecond) } // a guess costs less than a step
	s, err := New(m, Config{})
	if err != nil {
		t.Fatal(err)
	}
	s.now = func() time.Time { return clock }
	var all []int32
	for i := range int32(600) {
		all = append(all, (7+i)%vocab)
	}
	results := map[int32]engine.Result{}
	for wrong := range int32(2) {
		sampler, err := sample.New(sample.Off())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Submit(t.Context(), Request{
			Prompt: all[:2], Max: 200, Sampler: sampler, Draft: func(*engine.Session) (engine.Drafter, error) { return known{all, wrong}, nil },
			Done: func(res engine.Result, err error) {
				if err != nil {
					t.Error(err)
				}
				results[wrong] = res
			},
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	right, wrong := results[0], results[1]
	if right.Accepted != right.Drafted || right.Accepted < 100 || wrong.Accepted > 0 || wrong.Drafted < 3*paySteps || wrong.Drafted > 3*2*paySteps {
		t.Errorf("right: %d of %d, wrong: %d of %d", right.Accepted, right.Drafted, wrong.Accepted, wrong.Drafted)
	}
}
