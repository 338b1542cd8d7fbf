package scheduler

import (
	"testing"
	"time"

	"mla/runtime/device"
	"mla/runtime/engine"
	"mla/runtime/plan"
	"mla/runtime/sample"
)

// TestPays: guesses rest where steps with them take longer than what they bring, for any
// number of requests, as soon as that has cost some steps' time, and twice as long when it was
// in vain again; and they are not made before it is known how long a step takes without.
func TestPays(t *testing.T) {
	for _, tt := range []struct {
		rows, tokens int           // of a step
		took         time.Duration // a step without takes 100
		steps        int           // until they rest
		want         bool
	}{{1, 1, 200, paySome, false}, {1, 1, 150, 5, false}, {1, 1, 110, paySteps, false}, {1, 3, 200, paySteps, true}, {4, 4, 100, paySteps, true}, {4, 5, 175, 5, false}, {4, 8, 200, paySteps, true}, {4, 9, 300, paySome, false}} {
		var p pays
		if p.ran(tt.rows+1, 0, tt.rows+1, 100); p.now(tt.rows) {
			t.Error("guesses before it is known what a step takes without")
		}
		p.ran(tt.rows, 0, tt.rows, 100)
		for _, rest := range []int{payRest, 2 * payRest, 4 * payRest} {
			steps := 0
			for ; steps < paySteps && p.now(tt.rows); steps++ {
				p.ran(tt.rows, 3, tt.tokens, tt.took)
			}
			if got := p.now(tt.rows); got != tt.want || steps != tt.steps {
				t.Fatalf("%+v: they pay is %t behind %d steps", tt, got, steps)
			}
			if tt.want {
				break
			}
			for range rest - 1 {
				p.ran(tt.rows, 0, tt.rows, 100)
			}
			if p.now(tt.rows) {
				t.Error("guesses do not rest")
			}
			p.ran(tt.rows, 0, tt.rows, 100)
		}
	}
}

// TestLoss: a text of 500 tokens none of whose guesses is right takes at most 3 % longer,
// where a step with guesses takes 2.4 times as long as one without.
func TestLoss(t *testing.T) {
	var p pays
	var w worth
	took := 0.0
	for range 500 {
		if !p.now(1) || !w.now() {
			took += 100
			p.ran(1, 0, 1, 100)
			continue
		}
		took += 240
		guess, token := p.shares(1, 7, 240)
		w.ran(7, 0, guess, token)
		p.ran(1, 7, 1, 240)
	}
	if took < 500*100 || took > 1.03*500*100 {
		t.Errorf("500 tokens take the time of %v", took/100)
	}
}

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
	// At once, and behind rests of payRest and twice that; the fourth one in vain costs more than
	// payLoss tokens.
	if tried != 3*4 {
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

// late is a Drafter that has a thousand tokens to catch up with in front of each guess.
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

// TestCatchUp: what a Drafter has missed is no part of what its guesses cost, and it catches up
// where it guesses and nowhere else; where that takes too long it rests.
func TestCatchUp(t *testing.T) {
	if l, right := runLate(t, 100*time.Microsecond); right < 100 || l.caught < 10*1000 || l.rests {
		t.Errorf("%d guesses right, %d tokens caught up with, rests: %t", right, l.caught, l.rests)
	}
	if l, right := runLate(t, time.Millisecond); right > 0 || l.caught > 2*32 || !l.rests {
		t.Errorf("slow: %d guesses right, %d tokens caught up with, rests: %t", right, l.caught, l.rests)
	}
}

// runLate runs a text of 200 tokens, each of which takes 10 ms alone, and returns how many guesses were right.
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
		Prompt: all[:2], Max: 200, Sampler: sampler, Draft: func(*engine.Session) (engine.Drafter, error) { return l, nil },
		Done: func(res engine.Result, err error) {
			if err != nil {
				t.Error(err)
			}
			result = res
		},
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	return l, result.Accepted
}
