package payoff

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// machine is a machine with other work: for a while everything takes 2.5 times as long, and now and then one
// step takes four times as long.
type machine struct {
	rng  *rand.Rand
	calm bool
	slow bool
}

// took returns the measured time of work that takes the time of a number of tokens.
func (m *machine) took(work float64) time.Duration {
	const unit = float64(time.Millisecond)
	if m.calm {
		return time.Duration(unit * work)
	}
	ends := 0.05 * work // a good time lasts twenty tokens
	if m.slow {
		ends = 0.12 * work
	}
	if m.rng.Float64() < ends {
		m.slow = !m.slow
	}
	if m.slow {
		work *= 2.5
	}
	if m.rng.IntN(100) == 0 {
		work *= 4
	}
	return time.Duration(unit * work * (1 + m.rng.Float64()/10))
}

// guesser is a function that returns the number of guesses of the next step, how many of them are right, and
// the time of the step in tokens.
type guesser func(rng *rand.Rand) (guesses, right int, takes float64)

// single guesses one token. The guess is right with a given probability.
func single(right, takes float64) guesser {
	return func(rng *rand.Rand) (int, int, float64) {
		if rng.Float64() < right {
			return 1, 1, takes
		}
		return 1, 0, takes
	}
}

// learning guesses one token more after a step with only right guesses, up to four, and one less after
// another step, as the layer of GLM does (engine/predict.go). each is the cost of a guess in tokens.
func learning(right, each float64) guesser {
	n := 2
	return func(rng *rand.Rand) (guesses, got int, takes float64) {
		guesses = n
		for got < n && rng.Float64() < right {
			got++
		}
		if n = max(n-1, 1); got == guesses {
			n = min(guesses+1, 4)
		}
		return guesses, got, 1 + each*float64(guesses)
	}
}

// mixed makes seven wrong guesses in some steps, and one guess in the others, as texts do that repeat
// themselves a little.
func mixed(wrong, right float64) guesser {
	one := single(right, 1.2)
	return func(rng *rand.Rand) (int, int, float64) {
		if rng.Float64() < wrong {
			return 7, 0, 2.4
		}
		return one(rng)
	}
}

// speed returns the speed of a text of 1,900 tokens relative to 1 without guesses. It counts the work of the
// machine and not its slow times, because slow times are as bad without guesses.
func speed(m *machine, guess guesser) float64 {
	const tokens = 1900
	var s Steps
	work := 0.0
	for got := 0; got < tokens; {
		guesses, right, takes := 0, 0, 1.
		if s.Now(1) {
			guesses, right, takes = guess(m.rng)
		}
		s.Ran(1, guesses, 1+right, m.took(takes))
		got, work = got+1+right, work+takes
	}
	return tokens / work
}

// TestSpeed checks the speed of twenty texts: at most one is slower than 0.97 of its speed without guesses,
// or 0.96 on a machine with slow times, and most of the possible gain is reached.
func TestSpeed(t *testing.T) {
	const texts = 100
	for _, tt := range []struct {
		what        string
		guesser     func() guesser
		calm, rough float64 // the least median of the speed
	}{
		{"none of 1.2", func() guesser { return single(0, 1.2) }, .99, .99},
		{"none of 1.8", func() guesser { return single(0, 1.8) }, .99, .99},
		{"none of 2.4", func() guesser { return single(0, 2.4) }, .99, .99},
		{"0.2 of 1.8", func() guesser { return single(.2, 1.8) }, .99, .99},
		{"0.6 of 1.8", func() guesser { return single(.6, 1.8) }, .99, .99},
		{"0.8 of 2.2", func() guesser { return single(.8, 2.2) }, .99, .99},
		{"all of 2.2", func() guesser { return single(1, 2.2) }, .99, .99},
		{"0.4 of 1.2", func() guesser { return single(.4, 1.2) }, 1.1, 1.1}, // 1.17 with all guesses
		{"0.8 of 1.2", func() guesser { return single(.8, 1.2) }, 1.45, 1.35},
		{"all of 1.2", func() guesser { return single(1, 1.2) }, 1.6, 1.5}, // 1.67
		{"all of 1.8", func() guesser { return single(1, 1.8) }, 1.09, 1.07},
		{"up to four, 0.3 right", func() guesser { return learning(.3, .6) }, .98, .98},
		{"up to four, 0.5 right", func() guesser { return learning(.5, .6) }, .98, .98},
		{"up to four, 0.6 right", func() guesser { return learning(.6, .6) }, .98, .98},
		{"up to four, 0.9 right", func() guesser { return learning(.9, .3) }, 1.5, 1.35},
		{"seven or one", func() guesser { return mixed(.3, .5) }, .97, .97},
		{"seven or one, most wrong", func() guesser { return mixed(.3, .3) }, .98, .98},
	} {
		for calm, least := range map[bool]float64{true: tt.calm, false: tt.rough} {
			var all []float64
			for seed := range uint64(texts) {
				all = append(all, speed(&machine{rng: rand.New(rand.NewPCG(seed, 1)), calm: calm}, tt.guesser()))
			}
			slices.Sort(all)
			bound := 0.97
			if !calm {
				bound = 0.96
			}
			t.Logf("%s, calm %t: %.3f, one in twenty below %.3f, median %.3f", tt.what, calm, all[0], all[texts/20], all[texts/2])
			if all[texts/20] < bound || all[texts/2] < least {
				t.Errorf("that is too slow: expected %v and %v", bound, least)
			}
		}
	}
}
