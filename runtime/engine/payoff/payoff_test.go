package payoff

import (
	"testing"
	"time"
)

// TestSteps checks when guesses rest: as soon as steps with guesses have cost some steps more than they
// brought, for any number of texts. After another useless try they rest twice as long. Guesses are not made
// before the time of a step without guesses is known.
func TestSteps(t *testing.T) {
	for _, tt := range []struct {
		rows, tokens int           // of a step
		took         time.Duration // a step without takes 100
		steps        int           // until they rest
		want         bool
	}{
		{1, 1, 200, someSteps, false}, {1, 1, 150, 5, false}, {1, 1, 110, allSteps, false}, {1, 2, 200, allSteps, true}, {1, 3, 200, allSteps, true}, {1, 8, 300, allSteps, true}, {1, 8, 900, someSteps, false},
		{4, 4, 100, allSteps, true}, {4, 5, 175, 5, false}, {4, 8, 200, allSteps, true}, {4, 9, 300, someSteps, false},
	} {
		var s Steps
		if s.Ran(tt.rows+1, 0, tt.rows+1, 100); s.Now(tt.rows) {
			t.Error("guesses before it is known what a step takes without")
		}
		s.Ran(tt.rows, 0, tt.rows, 100)
		for _, rest := range []int{firstRest, 2 * firstRest, 4 * firstRest, 8 * firstRest, 8 * firstRest} {
			steps := 0
			for ; steps < allSteps && s.Resting() == 0; steps++ {
				if !s.Now(tt.rows) {
					t.Fatalf("%+v: no guesses in step %d", tt, steps)
				}
				s.Ran(tt.rows, 3, tt.tokens, tt.took)
				if s.Now(tt.rows) && !s.paid {
					t.Fatalf("%+v: two steps of a trial without one between them that guesses nothing", tt)
				}
				if s.Resting() == 0 {
					s.Ran(tt.rows, 0, tt.rows, 100)
				}
			}
			if got := s.Now(tt.rows); got != tt.want || s.paid != tt.want || steps != tt.steps {
				t.Fatalf("%+v: they pay is %t after %d steps", tt, got, steps)
			}
			if tt.want {
				break
			}
			for range rest - 1 {
				s.Ran(tt.rows, 0, tt.rows, 100)
			}
			if s.Now(tt.rows) || s.Resting() != 1 {
				t.Error("guesses do not rest")
			}
			s.Ran(tt.rows, 0, tt.rows, 100)
		}
	}
}

// TestRest checks that guesses which have paid are tried again soon after they stop paying, and later each
// time.
func TestRest(t *testing.T) {
	var s Steps
	s.Ran(1, 0, 1, 100)
	for range allSteps {
		s.Ran(1, 3, 4, 200)
	}
	if !s.Now(1) || s.Resting() > 0 {
		t.Fatalf("guesses that save time rest for %d steps", s.Resting())
	}
	for _, want := range []int{restOnceMore, 2 * restOnceMore, 4 * restOnceMore} {
		for range someSteps {
			s.Ran(1, 3, 1, 200)
		}
		if s.Now(1) || s.Resting() != want {
			t.Fatalf("a rest of %d steps; expected %d", s.Resting(), want)
		}
		s.Ahead(want, time.Duration(want)*100)
	}
	if s.Rest(); s.Resting() != longestRest || s.Now(1) {
		t.Errorf("a rest of %d steps", s.Resting())
	}
}

// TestSaved checks that a step is compared with steps of as many rows, and that a slow step counts for at
// most 7/4 of the median.
func TestSaved(t *testing.T) {
	var s Steps
	s.Ran(1, 0, 1, 100)
	s.Ran(8, 0, 8, 200)
	for _, tt := range []struct {
		what  string
		steps []step
		want  time.Duration
	}{
		{"nothing", nil, 0},
		{"a token more", []step{{1, 2, 150}}, 50},
		{"of all steps", []step{{1, 1, 150}, {1, 1, 150}, {8, 12, 300}}, -100},
		{"one slow", []step{{1, 2, 120}, {1, 2, 120}, {1, 2, 900}}, 80 + 80 - 10},
	} {
		if got := s.saved(tt.steps); got != tt.want {
			t.Errorf("%s: %d; expected %d", tt.what, got, tt.want)
		}
	}
	s.Ran(1, 3, 1, 120)
	if guess, token := s.Shares(1, 1, 900); guess != 110 || token != 100 {
		t.Errorf("a guess of a slow step costs %d, a token %d", guess, token)
	}
}

// TestSoon checks that guesses which save much count as paid after a few steps.
func TestSoon(t *testing.T) {
	var s Steps
	s.Ran(1, 0, 1, 100)
	for i := range someSteps {
		if s.Now(1); s.paid {
			t.Fatalf("they have paid after %d steps", i)
		}
		s.Ran(1, 7, 8, 300)
		s.Ran(1, 0, 1, 100)
	}
	if s.Now(1); !s.paid {
		t.Errorf("%d steps that save five tokens each do not show that guesses pay", someSteps)
	}
}

// TestLooks checks that guesses which pay are left out of a step now and then, so that a change is noticed.
// Here a step without guesses takes 100 at first and 60 later. A step with two tokens takes 150, which saves
// time at first only.
func TestLooks(t *testing.T) {
	var s Steps
	s.Ran(1, 0, 1, 100)
	alone, guessing := 0, 0
	for range 1000 {
		if s.Now(1) {
			guessing++
			s.Ran(1, 1, 2, 150)
		} else {
			alone++
			s.Ran(1, 0, 1, 100)
		}
	}
	if s.Resting() > 0 || guessing < 900 || alone < 40 {
		t.Errorf("%d steps with guesses, %d without", guessing, alone)
	}
	for steps := 0; s.Resting() == 0; steps++ {
		if steps == 100 {
			t.Fatal("it is not noticed that guesses do not pay any more")
		}
		if s.Now(1) {
			s.Ran(1, 1, 2, 150)
		} else if s.Resting() == 0 {
			s.Ran(1, 0, 1, 60)
		}
	}
}

// TestLoss checks that a text of 500 tokens with only wrong guesses takes at most 3 % longer, if a step with
// guesses takes 2.4 times as long as one without.
func TestLoss(t *testing.T) {
	var s Steps
	var share Share
	took := 0.0
	for range 500 {
		if !s.Now(1) || share.Resting() > 0 {
			took += 100
			s.Ran(1, 0, 1, 100)
			share.Passed(1)
			continue
		}
		took += 240
		guess, token := s.Shares(1, 7, 240)
		share.Ran(7, 0, guess, token)
		s.Ran(1, 7, 1, 240)
	}
	if took <= 500*100 || took > 1.03*500*100 {
		t.Errorf("500 tokens take the time of %v", took/100)
	}
}

// TestShare checks two texts that guess. The text with wrong guesses rests, tries again after a while, and
// rests again. The other text continues to guess.
func TestShare(t *testing.T) {
	var s Steps
	s.Ran(2, 0, 2, 20*time.Millisecond)
	var good, bad Share
	tried, goodTried := 0, 0
	for range 4 * firstRest {
		guesses := 3
		if good.Resting() == 0 {
			goodTried++
		}
		guessing := bad.Resting() == 0
		if guessing {
			guesses, tried = guesses+3, tried+1
		} else {
			bad.Passed(1)
		}
		took := 20*time.Millisecond + time.Duration(guesses)*2*time.Millisecond
		guess, token := s.Shares(2, guesses, took)
		if guess != 2*time.Millisecond || token != 10*time.Millisecond {
			t.Fatalf("a guess costs %v, a token %v", guess, token)
		}
		if good.Ran(3, 3, guess, token); guessing {
			bad.Ran(3, 0, guess, token)
		}
	}
	if goodTried != 4*firstRest {
		t.Errorf("guesses that are right were made %d times in %d", goodTried, 4*firstRest)
	}
	// At once, and after rests of firstRest and twice that; the fourth one in vain costs more than
	// enoughLost tokens.
	if tried != 3*4 {
		t.Errorf("guesses that are wrong were made %d times in %d", tried, 4*firstRest)
	}
	if bad.Rest(); bad.Resting() != longestRest {
		t.Errorf("a rest of %d steps", bad.Resting())
	}
}

// TestShareOfFew checks that guesses do not rest for a text whose steps had no guesses, or whose guesses take
// no time.
func TestShareOfFew(t *testing.T) {
	var s Share
	for range 10 * allSteps {
		s.Ran(0, 0, time.Second, time.Millisecond)
	}
	for range 10 * allSteps {
		s.Ran(3, 0, 0, time.Millisecond)
	}
	if s.Resting() > 0 {
		t.Error("it rests")
	}
}

// TestAhead checks that guesses have to beat the steps that a device makes by itself, whose time is a part of
// the time of a step with the host.
func TestAhead(t *testing.T) {
	var s Steps
	s.Ran(1, 0, 1, 100)
	for _, tt := range []struct {
		steps      int
		took, want time.Duration
	}{{enoughAhead - 1, 70, 100}, {10, 800, 80}, {3, 30, 80}, {10, 5000, 100}, {10, 600, 60}} {
		if s.Ahead(tt.steps, tt.took); s.Alone(1) != tt.want {
			t.Errorf("%+v: a token takes %d", tt, s.Alone(1))
		}
	}
	for range paceSteps {
		s.Ran(1, 0, 1, 200)
	}
	if s.Alone(1) != 120 {
		t.Errorf("a token takes %d where each step takes twice as long as before", s.Alone(1))
	}
}

// TestPaces checks that steps do not count towards the usual time of a step while the machine is slow.
func TestPaces(t *testing.T) {
	var s Steps
	for range paceSteps {
		s.Ran(1, 0, 1, 100)
	}
	s.Rest()
	for i := range longestRest {
		took := time.Duration(100)
		if i%20 < 8 {
			took = 300
		}
		if s.Ran(1, 0, 1, took); i > 100 && i%20 == 8 && s.Alone(1) != 100 {
			t.Fatalf("step %d: %d", i, s.Alone(1))
		}
	}
}
