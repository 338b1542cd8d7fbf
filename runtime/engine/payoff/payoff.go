// Package payoff decides whether guesses of what follows a text are worth their time: steps with
// guesses must bring more tokens than their time would have brought without. Both times are
// measured while the text is made, again and again: they depend on the device, on the length of
// the text, and on who else uses the machine.
package payoff

import (
	"math"
	"slices"
	"time"
)

// How many steps with guesses decide, or fewer, but someSteps, once a number of tokens' time is lost or
// saved: one step may have been slow by chance. If guesses did not pay they rest for firstRest steps,
// and for twice as many each time: a text that cannot be guessed loses two to three tokens in a
// hundred, and fewer later on. After guesses that have paid the first rest is short, so that little
// is lost by a decision that was wrong.
const (
	allSteps     = 8
	someSteps    = 3
	enoughLost   = 2
	enoughSaved  = 5
	firstRest    = 128
	restOnceMore = 16 // the first after guesses that have paid
	longestRest  = 1024
)

// rest is how many steps are left until guesses are tried again.
type rest struct{ left, next int }

// decide lets a number of steps with guesses decide, which saved some time where a token takes so
// long: guesses have paid, or they rest. False: there are too few steps yet.
func (r *rest) decide(steps int, saved, token time.Duration) bool {
	if steps < someSteps || steps < allSteps && -enoughLost*token <= saved && saved <= enoughSaved*token {
		return false
	}
	if saved >= 0 {
		r.next = restOnceMore
		return true
	}
	if r.next == 0 {
		r.next = firstRest
	}
	r.left, r.next = r.next, min(2*r.next, longestRest)
	return true
}

func (r *rest) passed(steps int) { r.left = max(r.left-steps, 0) }

// Steps decides for all texts that run in one batch. The zero value is ready.
type Steps struct {
	alone map[int]*paces // of steps without guesses, by their rows
	tried []step         // the steps with guesses since the last decision
	since []step         // and since the last step without
	paid  bool           // the last decision was that they pay
	rest  rest
}

// step is a step with guesses.
type step struct {
	rows, tokens int
	took         time.Duration
}

// Ran counts a step of a number of rows, one of each text, with a number of guesses of what follows them
// all, which brought a number of tokens.
func (s *Steps) Ran(rows, guesses, tokens int, took time.Duration) {
	if guesses > 0 {
		one := step{rows, tokens, took}
		s.tried, s.since = append(s.tried, one), append(s.since, one)
		return
	}
	if s.alone == nil {
		s.alone = map[int]*paces{}
	}
	if s.alone[rows] == nil {
		s.alone[rows] = &paces{}
	}
	s.alone[rows].add(took, s.rest.left)
	s.since = s.since[:0]
	s.rest.passed(1)
}

// Ahead counts steps of one row that a device has made by itself, without guesses.
func (s *Steps) Ahead(steps int, took time.Duration) {
	if p := s.alone[1]; p != nil && steps >= enoughAhead {
		p.goAhead(took / time.Duration(steps))
	}
	s.rest.passed(steps)
}

// Now decides whether the next step, of a given number of rows, gets guesses: not before it is known what one
// takes without. A rest may begin by it.
func (s *Steps) Now(rows int) bool {
	token := s.Alone(rows)
	if s.rest.left > 0 || token == 0 {
		return false
	}
	if s.rest.decide(len(s.tried), s.saved(s.tried), token) {
		s.tried, s.paid = s.tried[:0], s.rest.left == 0
	}
	return s.rest.left == 0 && !s.looks()
}

// lookPart is the part of a text's time that may be lost to see what a step takes without guesses.
const lookPart = 1. / 100

// looks says whether the next step is one without guesses, to see what it takes by now: each other
// one until guesses have paid, so that both kinds meet the same slow times of a machine, and now
// and then after that. Such a step makes one token where one with guesses makes more, so it loses
// what guesses save of one token's time: the more they save, the fewer looks.
func (s *Steps) looks() bool {
	if len(s.since) == 0 || !s.paid {
		return len(s.since) > 0
	}
	tokens, took := 0, time.Duration(0)
	for _, one := range s.since {
		tokens, took = tokens+one.tokens, took+one.took
	}
	saved := s.saved(s.since)
	return float64(saved) < lookPart*float64(tokens)*float64(took+saved)
}

// slowest is how many times the median a step counts for at most: a slow time of a machine is no
// matter of guesses. Steps of one guess and of many differ by less.
const slowest = 7. / 4

// saved is how much longer the tokens of these steps would have taken without guesses.
func (s *Steps) saved(steps []step) (saved time.Duration) {
	most := s.most(steps)
	for _, one := range steps {
		alone := float64(s.Alone(one.rows))
		saved += time.Duration(alone * (float64(one.tokens)/float64(one.rows) - min(s.times(one), most)))
	}
	return saved
}

// times is how many times as long a step takes as one of the same number of rows without guesses.
func (s *Steps) times(one step) float64 {
	return float64(one.took) / float64(max(s.Alone(one.rows), 1))
}

// most is the most that one of these steps counts for, in times; without any there is no bound.
func (s *Steps) most(steps []step) float64 {
	if len(steps) == 0 {
		return math.Inf(1)
	}
	times := make([]float64, 0, allSteps)
	for _, one := range steps {
		times = append(times, s.times(one))
	}
	return slowest * median(times)
}

// Alone is how long a step of a given number of rows takes without guesses; 0: not known.
func (s *Steps) Alone(rows int) time.Duration {
	if p := s.alone[rows]; p != nil {
		return p.typical()
	}
	return 0
}

// Resting is for how many steps nothing is guessed.
func (s *Steps) Resting() int { return s.rest.left }

// Rest begins the longest rest, and a new trial after it.
func (s *Steps) Rest() { s.rest.left, s.paid, s.tried = longestRest, false, s.tried[:0] }

// Shares are what a guess has cost in the step that comes next to Ran, and what a token costs
// without guesses.
func (s *Steps) Shares(rows, guesses int, took time.Duration) (guess, token time.Duration) {
	alone := s.Alone(rows)
	if most := s.most(s.since) * float64(alone); float64(took) > most {
		took = time.Duration(most)
	}
	return max(0, took-alone) / time.Duration(guesses), alone / time.Duration(rows)
}

// median is the middle one, or the lower of two; 0: there is none.
func median[T time.Duration | float64](list []T) T {
	if len(list) == 0 {
		return 0
	}
	sorted := append(make([]T, 0, allSteps), list...)
	slices.Sort(sorted)
	return sorted[(len(list)-1)/2]
}
