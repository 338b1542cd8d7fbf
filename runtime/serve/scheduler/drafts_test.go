package scheduler

import (
	"testing"
	"time"

	"mla/runtime/device"
	"mla/runtime/engine"
	"mla/runtime/plan"
	"mla/runtime/text/sample"
)

// known guesses the right tokens, or always wrong ones.
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

// TestDraftsOfOne checks that a request with wrong guesses stops making them, while another request
// continues.
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
			Continuation: Continuation{
				Prompt: all[:2],
				Max:    200,
				Done: func(res engine.Result, err error) {
					if err != nil {
						t.Error(err)
					}
					results[wrong] = res
				},
			},
			Sampler: sampler,
			Draft:   func(*engine.Session) (engine.Drafter, error) { return known{all, wrong}, nil },
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	right, wrong := results[0], results[1]
	if right.Accepted != right.Drafted || right.Accepted < 100 || wrong.Accepted > 0 || wrong.Drafted < 3*8 || wrong.Drafted > 3*2*8 {
		t.Errorf("right: %d of %d, wrong: %d of %d", right.Accepted, right.Drafted, wrong.Accepted, wrong.Drafted)
	}
}

// late is a Drafter that has to catch up with a thousand tokens before each guess.
type late struct {
	known
	clock          *time.Time
	each           time.Duration
	caught, missed int
	rests          bool
}

func (l *late) Missed() int     { return l.missed }
func (l *late) Rest(rests bool) { l.rests = rests }
func (l *late) CatchUp(n int) {
	l.caught, l.missed = l.caught+n, l.missed-n
	*l.clock = l.clock.Add(time.Duration(n) * l.each)
}
func (l *late) Propose(text []int32, n int) []int32 {
	l.missed = 1000
	return l.known.Propose(text, n)
}

// TestCatchUp checks that the time to catch up with missed tokens does not count as the cost of guesses, and
// that a Drafter catches up only where it guesses. If this takes too long, the Drafter rests.
func TestCatchUp(t *testing.T) {
	if l, right := runLate(t, 100*time.Microsecond); right < 100 || l.caught < 10*1000 || l.rests {
		t.Errorf("%d guesses right, %d tokens caught up with, rests: %t", right, l.caught, l.rests)
	}
	if l, right := runLate(t, time.Millisecond); right > 0 || l.caught > 2*32 || !l.rests {
		t.Errorf("slow: %d guesses right, %d tokens caught up with, rests: %t", right, l.caught, l.rests)
	}
}

// runLate runs a text of 200 tokens, each of which takes 10 ms alone, and returns how many guesses were
// right.
func runLate(t *testing.T, each time.Duration) (*late, int) {
	t.Helper()
	m, runner := newModel(t, device.Config{Context: 300, Tables: 1, Width: 16})
	var clock time.Time
	runner.Logits = func(row plan.Row, _ uint64, out []float32) { out[(int(row.Token)+1)%vocab] = 1 }
	runner.After = func() { clock = clock.Add(10 * time.Millisecond) }
	s, err := New(m, Config{Now: func() time.Time { return clock }})
	if err != nil {
		t.Fatal(err)
	}
	var all []int32
	for i := range int32(300) {
		all = append(all, (7+i)%vocab)
	}
	sampler, err := sample.New(sample.Off())
	if err != nil {
		t.Fatal(err)
	}
	l := &late{known: known{all, 0}, clock: &clock, each: each, missed: 1000}
	var result engine.Result
	if err := s.Submit(t.Context(), Request{
		Continuation: Continuation{
			Prompt: all[:2],
			Max:    200,
			Done: func(res engine.Result, err error) {
				if err != nil {
					t.Error(err)
				}
				result = res
			},
		},
		Sampler: sampler,
		Draft:   func(*engine.Session) (engine.Drafter, error) { return l, nil },
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	return l, result.Accepted
}
