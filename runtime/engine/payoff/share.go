package payoff

import "time"

// Share decides for one text whether it guesses: what was right of its guesses must have saved the
// time that they all took. So a text that cannot be guessed leaves the rows of a step to others.
// The zero value is ready.
type Share struct {
	saved time.Duration
	steps int
	rest  rest
}

// Ran counts a step with a number of guesses of this text, of which some were right, by what Shares
// says.
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

// Resting is for how many steps the text does not guess.
func (s *Share) Resting() int { return s.rest.left }

// Rest begins the longest rest, and a new trial after it.
func (s *Share) Rest() { s.rest.left, s.saved, s.steps = longestRest, 0, 0 }

// Passed counts steps.
func (s *Share) Passed(steps int) { s.rest.passed(steps) }
