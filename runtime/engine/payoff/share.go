package payoff

import "time"

// Share decides for one text whether it gets drafts: its accepted drafts must have saved the time that all of
// its drafts took. So a text that cannot be drafted leaves the rows of a step to other texts. The zero value
// is ready.
type Share struct {
	saved time.Duration
	steps int
	rest  rest
}

// Ran counts a step with drafts of this text, of which right were accepted, at the costs of Shares.
func (s *Share) Ran(guessed, right int, guess, token time.Duration) {
	if guessed == 0 {
		return
	}
	s.saved += token*time.Duration(right) - guess*time.Duration(guessed)
	s.steps++
	if s.rest.decide(s.steps, s.saved, token) {
		s.saved, s.steps = 0, 0
	}
}

// Resting is the number of steps left without drafts.
func (s *Share) Resting() int { return s.rest.left }

// Rest begins the longest rest, and a new trial after it.
func (s *Share) Rest() { s.rest.left, s.saved, s.steps = longestRest, 0, 0 }

// Passed counts steps without drafts of this text.
func (s *Share) Passed(steps int) { s.rest.passed(steps) }
