package scheduler

import (
	"errors"
	"time"

	"mla/runtime/engine"
)

// flight is a request that is alone, whose tokens a device picks and runs by itself: between
// two of them it then waits for nothing. Nil: there is none.
type flight struct {
	task  *task
	ahead *engine.Ahead
	most  int // tokens; negative: any number
	ran   int
	since time.Time
}

// How many tokens of a request that guesses are run without a look, once there was nothing to
// guess: few at first, so that little is missed, and twice as many each time until a guess is
// right, as to begin takes the time of a part of a token.
const (
	fewUnguessed  = 8
	mostUnguessed = 64
)

// alone is the request that a device can go on with by itself, for at most so many tokens
// (negative: any number): nobody else is there or could join, and nothing but the logits
// decides about its tokens. Nil: there is none.
func (s *Scheduler) alone() (t *task, most int) {
	if s.unit < 1 || len(s.active) != 1 || s.joins() || len(s.turn.decode) > 0 || s.turn.prompts > 0 {
		return nil, 0
	}
	t = s.active[0]
	if !t.ready() || t.onHost || !t.portable() {
		return nil, 0
	}
	if t == s.flight.task {
		return t, 0
	}
	if most = s.unguessed(t, 1); t.Max >= 0 {
		left := t.Max - len(t.result.Tokens)
		if most < 0 || most > left {
			most = left
		}
	}
	if most == 0 || most == 1 {
		return nil, 0
	}
	return t, most
}

// unguessed is for how many tokens a request need not guess, in steps of so many rows; negative:
// for all.
func (s *Scheduler) unguessed(t *task, rows int) int {
	if t.drafter == nil {
		return -1
	}
	_, textual := t.drafter.(engine.Textual)
	_, following := t.drafter.(engine.Following)
	rest := max(s.pays.Resting(), t.share.Resting())
	switch {
	case !textual && !following, s.pays.Alone(rows) == 0: // it is not known yet what guesses have to beat
		return 0
	case rest > 0:
		return rest
	case following:
		return 0
	case len(t.drafter.Propose(t.text, 1)) > 0:
		return 0
	}
	t.unguessed = min(max(2*t.unguessed, fewUnguessed), mostUnguessed)
	return t.unguessed
}

// goOn takes the next token of the request that is alone, which is a flight's or begins one
// of most tokens; false: there is no page for it, and a round has to say what becomes of that.
func (s *Scheduler) goOn(t *task, most int) bool {
	start := s.now()
	token := t.text[len(t.text)-1]
	var err error
	if s.flight.task == t {
		token, err = s.flight.ahead.Next(token)
		if out := (*engine.OutOfPages)(nil); errors.As(err, &out) {
			s.endAhead()
			return s.failed != nil
		}
	} else {
		if !s.reserve(t, 1) {
			return s.failed != nil
		}
		var ahead *engine.Ahead
		sampler := t.Sampler.(engine.Portable)
		known := sampler.Sampling() != nil // else the host picks this one, and maybe not the next
		ahead, token, err = t.session.RunAhead(token, sampler, s.unit, most)
		if ahead != nil {
			s.flight = flight{task: t, ahead: ahead, most: most, since: start}
		}
		t.onHost = ahead == nil && known
	}
	if s.failed = err; err != nil {
		return true
	}
	took := s.now().Sub(start)
	s.steps.ahead(1, took)
	if f := &s.flight; f.task == t {
		if f.ran++; f.ran == f.most {
			s.endAhead() // nothing is under way
		}
	} else {
		s.pays.Ran(1, 0, 1, took)
		t.share.Passed(1)
	}
	t.result.Decode.Tokens++
	s.take(t, []int32{token})
	return true
}

// endAhead ends what a device does by itself. The request goes on with rows.
func (s *Scheduler) endAhead() {
	if f := s.flight; f.ahead != nil {
		s.pays.Ahead(f.ran, s.now().Sub(f.since))
		f.task.share.Passed(f.ran)
		s.flight = flight{}
		if err := f.ahead.End(); s.failed == nil {
			s.failed = err
		}
	}
}
