// Package payoff decides whether drafts are worth their time: steps with drafts must produce more tokens than
// the same time would without. Both are measured continuously while the text is generated, because they
// depend on the device, the length of the text, and other users of the machine.
package payoff

import (
	"math"
	"slices"
	"time"
)

// A decision takes a number of steps with drafts; or someSteps, if these have lost or saved the time of
// several tokens, as a single step may be slow by chance. If drafts do not pay, they rest for firstRest
// steps, and for twice as many each time: so a text that cannot be drafted loses two to three tokens in a
// hundred, and fewer later on. If drafts have paid before, the first rest is short, so that a wrong decision
// costs little.
const (
	allSteps     = 8
	someSteps    = 3
	enoughLost   = 2
	enoughSaved  = 5
	firstRest    = 128
	restOnceMore = 16 // the first rest after drafts that have paid
	longestRest  = 1024
)

// rest is the number of steps left until drafts are tried again.
type rest struct{ left, next int }

// decide decides after a number of steps with drafts that have saved some time, where a token takes the time
// token: drafts continue, or rest. It returns false if the steps are too few for a decision.
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
	alone map[int]*paces // times of steps without drafts, by number of rows
	tried []step         // the steps with drafts since the last decision
	since []step         // the steps with drafts since the last step without
	paid  bool           // the last decision was that drafts pay
	rest  rest
}

// step is a step with drafts.
type step struct {
	rows, tokens int
	took         time.Duration
}

// Ran counts a step: its rows, one of each text, the drafts of all texts, and the tokens that it produced.
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

// Ahead counts steps of one row, without drafts, that a device has made ahead.
func (s *Steps) Ahead(steps int, took time.Duration) {
	if p := s.alone[1]; p != nil && steps >= enoughAhead {
		p.goAhead(took / time.Duration(steps))
	}
	s.rest.passed(steps)
}

// Now decides whether the next step, with a number of rows, gets drafts. It does not before the time of a
// step without drafts is known. A call may begin a rest.
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

// lookPart is the part of a text's time that may be spent on measuring steps without drafts.
const lookPart = 1. / 100

// looks says whether the next step is run without drafts, to measure its time. Until drafts have paid it is
// every second step, so that both kinds meet the same slow periods of a machine; later it is one now and
// then. Such a step produces one token where one with drafts produces more, so it costs the time that drafts
// save per step: the more they save, the fewer such steps there are.
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

// slowest is the most, in multiples of the median, that a step counts for, as drafts do not cause the slow
// periods of a machine. The times of steps with one draft and with many differ by less.
const slowest = 7. / 4

// saved is how much longer the tokens of these steps would have taken without drafts.
func (s *Steps) saved(steps []step) (saved time.Duration) {
	most := s.most(steps)
	for _, one := range steps {
		alone := float64(s.Alone(one.rows))
		saved += time.Duration(alone * (float64(one.tokens)/float64(one.rows) - min(s.times(one), most)))
	}
	return saved
}

// times is a step's time divided by the time of a step with the same number of rows without drafts.
func (s *Steps) times(one step) float64 {
	return float64(one.took) / float64(max(s.Alone(one.rows), 1))
}

// most is the most that one of these steps counts for, in times; without steps there is no bound.
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

// Alone is the time of a step with a number of rows without drafts; 0: unknown.
func (s *Steps) Alone(rows int) time.Duration {
	if p := s.alone[rows]; p != nil {
		return p.typical()
	}
	return 0
}

// Resting is the number of steps left without drafts.
func (s *Steps) Resting() int { return s.rest.left }

// Rest begins the longest rest, and a new trial after it.
func (s *Steps) Rest() { s.rest.left, s.paid, s.tried = longestRest, false, s.tried[:0] }

// Shares returns the cost of one draft in a step that is about to be counted by Ran, and the cost of a token
// without drafts.
func (s *Steps) Shares(rows, guesses int, took time.Duration) (guess, token time.Duration) {
	alone := s.Alone(rows)
	if most := s.most(s.since) * float64(alone); float64(took) > most {
		took = time.Duration(most)
	}
	return max(0, took-alone) / time.Duration(guesses), alone / time.Duration(rows)
}

// median is the middle number, or the lower of the two middle ones; 0: the list is empty.
func median[T time.Duration | float64](list []T) T {
	if len(list) == 0 {
		return 0
	}
	sorted := append(make([]T, 0, allSteps), list...)
	slices.Sort(sorted)
	return sorted[(len(list)-1)/2]
}
