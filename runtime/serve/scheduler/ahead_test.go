package scheduler

import (
	"errors"
	"testing"
	"time"

	"mla/runtime/device"
	"mla/runtime/doctor/fake"
	"mla/runtime/engine"
	"mla/runtime/plan"
	"mla/runtime/text/sample"
)

// watched is a runner that counts how often it begins to continue by itself, and can fail then.
type watched struct {
	*fake.Runner
	lost   error // of Continue
	goes   bool
	begins int
}

func (w *watched) Replay(rows []plan.Row, wanted []int) ([]float32, error) {
	w.goes = false
	return w.Runner.Replay(rows, wanted)
}

func (w *watched) Pick(rows []plan.Row, picks []device.Pick) ([]int32, error) {
	w.goes = false
	return w.Runner.Pick(rows, picks)
}

func (w *watched) Continue(n int) error {
	if w.lost != nil {
		return w.lost
	}
	if !w.goes {
		w.goes, w.begins = true, w.begins+1
	}
	return w.Runner.Continue(n)
}

// watchedModel returns a model on such a runner.
func watchedModel(t testing.TB, cfg device.Config) (*engine.Model, *watched) {
	t.Helper()
	r := &watched{Runner: fake.New(vocab, cfg)}
	r.Logits = hashed
	m, err := engine.NewModel(r, vocab, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m, r
}

// TestAhead checks that the device continues a single request by itself until another request comes, and
// again after that one has ended. The texts are the same as alone.
func TestAhead(t *testing.T) {
	cfg := device.Config{Context: 256, Tables: 2, Pages: 8, Width: 16}
	m, r := watchedModel(t, cfg)
	s, err := New(m, Config{Ahead: 2})
	if err != nil {
		t.Fatal(err)
	}
	first, second := greedy(t, text(3, 4), 150), greedy(t, text(9, 70), 20)
	first.params.Temperature, first.params.Seed = 1, 7
	first.submit(t, s)
	for step, more := 0, true; more; step++ {
		if step == 40 {
			second.submit(t, s)
		}
		if more, err = s.Step(); err != nil {
			t.Fatal(err)
		}
		if a := s.ahead; a.Ahead != nil && step >= 40+2*2 && second.ended == 0 && len(a.tasks) < 2 {
			t.Fatalf("step %d: the device goes on with one of two requests", step)
		}
	}
	for i, c := range []*client{first, second} {
		if err := c.check(t, cfg); err != nil {
			t.Errorf("request %d: %v", i, err)
		}
	}
	if r.begins != 3 || r.Ahead < 120 || r.Most != 4 {
		t.Errorf("begun %d times, %d steps ahead, at most %d at a time", r.begins, r.Ahead, r.Most)
	}
	if got := s.Stats().Steps; got.Decode != 149+19 || s.ahead.Ahead != nil {
		t.Errorf("%+v", got)
	}
}

// TestAheadFails checks that a device which cannot pick is not asked to continue, and that a failing device
// ends the request.
func TestAheadFails(t *testing.T) {
	cfg := device.Config{Context: 256, Tables: 1, Pages: 4, Width: 16}
	for _, refuse := range []bool{true, false} {
		m, r := watchedModel(t, cfg)
		lost := errors.New("lost")
		if r.lost = lost; refuse {
			r.NoPicks, r.lost = true, nil
		}
		s, err := New(m, Config{Ahead: 2, Now: func() time.Time { return time.Time{} }})
		if err != nil {
			t.Fatal(err)
		}
		c := greedy(t, text(3, 4), 20)
		c.submit(t, s)
		err = s.Run()
		if refuse {
			if err := errors.Join(err, c.check(t, cfg)); err != nil || r.begins != 0 {
				t.Errorf("%v; begun %d times", err, r.begins)
			}
			continue
		}
		if !errors.Is(err, lost) || !errors.Is(c.err, lost) || c.ended != 1 {
			t.Errorf("%v; the request ended %d times with %v", err, c.ended, c.err)
		}
	}
}

// watching is a sampler that has to see every token before the next one is picked.
type watching struct{ engine.Portable }

func (watching) Watches() {}

// TestAheadWatching checks that the device does not continue by itself with a sampler that watches the text,
// with one that only the host has, or in a request with guesses.
func TestAheadWatching(t *testing.T) {
	for i, change := range []func(*Request, engine.Portable){
		func(q *Request, s engine.Portable) { q.Sampler = watching{s} },
		func(q *Request, s engine.Portable) { q.Sampler = struct{ engine.Sampler }{s} },
		func(q *Request, s engine.Portable) {
			q.Draft = func(*engine.Session) (engine.Drafter, error) { return known{}, nil }
		},
		func(q *Request, s engine.Portable) { q.Max = 2 }, // both are there before it could go on
	} {
		m, r := watchedModel(t, device.Config{Context: 256, Tables: 1, Pages: 4, Width: 16})
		s, err := New(m, Config{Ahead: 2})
		if err != nil {
			t.Fatal(err)
		}
		own, err := sample.New(sample.Off())
		if err != nil {
			t.Fatal(err)
		}
		q := Request{Continuation: Continuation{Prompt: text(3, 4), Max: 30, Done: func(engine.Result, error) {}}, Sampler: own}
		change(&q, own)
		if err := errors.Join(s.Submit(t.Context(), q), s.Run()); err != nil || r.begins > 0 {
			t.Errorf("case %d: %v; the device went on %d times", i, err, r.begins)
		}
	}
}

// TestAheadBehindHost checks that the device continues after first tokens which the host has to pick, and
// that it does not continue with steps of samplers that it lacks.
func TestAheadBehindHost(t *testing.T) {
	for min, begins := range map[int]bool{5: true, 100: false} {
		m, r := watchedModel(t, device.Config{Context: 256, Tables: 1, Pages: 4, Width: 16})
		s, err := New(m, Config{Ahead: 2})
		if err != nil {
			t.Fatal(err)
		}
		c := greedy(t, text(3, 4), 30)
		c.params.MinTokens, c.params.Ends, c.stop = min, []int32{1, 2, 3}, 1
		c.submit(t, s)
		if err := s.Run(); err != nil {
			t.Fatal(err)
		}
		if err := c.check(t, device.Config{Context: 256}); err != nil || r.begins > 0 != begins {
			t.Errorf("at least %d tokens: %v; the device went on %d times", min, err, r.begins)
		}
	}
}

// textual guesses the same tokens after any text.
type textual struct{ guess []int32 }

func (d textual) Propose(_ []int32, n int) []int32 { return d.guess[:min(n, len(d.guess))] }
func (textual) Textual()                           {}

// following guesses the same tokens, and would run the tokens that it has missed.
type following struct{ guess []int32 }

func (d following) Propose(_ []int32, n int) []int32 { return d.guess[:min(n, len(d.guess))] }
func (following) CatchUp(int)                        {}
func (following) Missed() int                        { return 0 }
func (following) Rest(bool)                          {}

// TestAheadOfGuesses checks that the device continues a request with guesses for a few tokens where there is
// nothing to guess, and for as long as guesses rest. No row is run in vain.
func TestAheadOfGuesses(t *testing.T) {
	const trials = 3 * 3 // steps with guesses in three trials, each of which takes four times as long as one without
	for _, tt := range []struct {
		drafter engine.Drafter
		guess   int
		begins  func(int) bool
	}{
		{textual{}, 0, func(n int) bool { return n == 10 }}, // after two tokens, which the prompt and a round bring: 8, 16, 32, and 442 by 64
		{following{[]int32{1, 2, 3}}, 3, func(n int) bool { return n == 3 }},
		{textual{[]int32{1, 2, 3}}, 3, func(n int) bool { return n == 3 }}, // a rest after each trial, of all requests and of this one together
	} {
		cfg := device.Config{Context: 600, Tables: 1, Pages: 10, Width: 16}
		m, r := watchedModel(t, cfg)
		var clock time.Time
		r.Logits = func(row plan.Row, _ uint64, out []float32) {
			clock = clock.Add(time.Millisecond)
			out[(int(row.Token)+5)%6+6] = 1 // never what is guessed
		}
		s, err := New(m, Config{Ahead: 2, Now: func() time.Time { return clock }})
		if err != nil {
			t.Fatal(err)
		}
		sampler, err := sample.New(sample.Off())
		if err != nil {
			t.Fatal(err)
		}
		var res engine.Result
		q := Request{
			Continuation: Continuation{
				Prompt: []int32{7, 8, 9},
				Max:    500,
				Done: func(got engine.Result, err error) {
					if res = got; err != nil {
						t.Error(err)
					}
				},
			},
			Sampler: sampler,
			Draft:   func(*engine.Session) (engine.Drafter, error) { return tt.drafter, nil },
		}
		if err := errors.Join(s.Submit(t.Context(), q), s.Run()); err != nil {
			t.Fatal(err)
		}
		if rows := clock.Sub(time.Time{}).Milliseconds(); len(res.Tokens) != 500 || !tt.begins(r.begins) || int(rows) != 500+res.Drafted || res.Drafted != trials*tt.guess || res.Accepted > 0 {
			t.Errorf("%+v: %d tokens, %d rows for %d guesses, begun %d times", tt.drafter, len(res.Tokens), rows, res.Drafted, r.begins)
		}
	}
}

// TestUnguessed checks that a request whose guess was right is asked for a guess again soon.
func TestUnguessed(t *testing.T) {
	s := &Scheduler{}
	s.pays.Ran(1, 0, 1, 1)
	r := &task{drafter: textual{}}
	for _, want := range []int{8, 16, 32, 64, 64} {
		if got := s.unguessed(r, 1); got != want {
			t.Errorf("%d tokens without a look; expected %d", got, want)
		}
	}
	m, _ := newModel(t, device.Config{Context: 64})
	var err error
	if r.session, err = m.NewSession(); err != nil {
		t.Fatal(err)
	}
	sampler, err := sample.New(sample.Off())
	if err != nil {
		t.Fatal(err)
	}
	r.Sampler, r.Max, r.ctx = sampler, 10, t.Context()
	if s.take(r, []int32{1, 2}); s.unguessed(r, 1) != 8 {
		t.Errorf("%d tokens after a right guess", r.unguessed)
	}
}
