package payoff

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// machine is one that others use too: for a while everything takes 2.5 times as long, and
// now and then one step takes four times as long.
type machine struct {
	rng  *rand.Rand
	calm bool
	slow bool
}

// took is what a clock says of work that takes so many tokens' time.
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

// speed is that of a text of 1,900 tokens, of whose guesses a part is right and which take so many
// tokens' time together with a token; without guesses it is 1. It is what the machine has to do, so
// that slow times, which are as bad for texts without guesses, are no part of it.
func speed(m *machine, right, together float64) float64 {
	const tokens = 1900
	var s Steps
	work := 0.0
	for got := 0; got < tokens; {
		made, guesses, takes := 1, 0, 1.
		if s.Now(1) {
			if guesses, takes = 1, together; m.rng.Float64() < right {
				made++
			}
		}
		s.Ran(1, guesses, made, m.took(takes))
		got, work = got+made, work+takes
	}
	return tokens / work
}

// TestSpeed: no text becomes slower than 0.97 of its speed without guesses, or one in twenty on a
// machine with slow times, by chance; and most of what guesses can gain is gained.
func TestSpeed(t *testing.T) {
	const texts = 100
	for _, tt := range []struct {
		right, together float64
		calm, rough     float64 // the least median of the speed
	}{
		{0, 1.2, .99, .99}, {0, 1.8, .99, .99}, {0, 2.4, .99, .99}, {.2, 1.8, .99, .99}, {.4, 1.8, .99, .99}, {.6, 1.8, .99, .99}, {.8, 2.2, .99, .99}, {1, 2.2, .99, .99},
		{.4, 1.2, 1.1, 1.1}, // 1.17 with all guesses
		{.8, 1.2, 1.45, 1.38},
		{1, 1.2, 1.6, 1.5}, // 1.67
		{1, 1.8, 1.09, 1.08},
	} {
		for calm, least := range map[bool]float64{true: tt.calm, false: tt.rough} {
			var all []float64
			for seed := range uint64(texts) {
				all = append(all, speed(&machine{rng: rand.New(rand.NewPCG(seed, 1)), calm: calm}, tt.right, tt.together))
			}
			slices.Sort(all)
			slowest := all[texts/20]
			if calm {
				slowest = all[0]
			}
			if slowest < 0.97 || all[texts/2] < least {
				t.Errorf("%v of the guesses right, %v tokens' time, calm %t: %.3f, median %.3f; expected 0.97 and %v", tt.right, tt.together, calm, slowest, all[texts/2], least)
			}
		}
	}
}
