package scheduler

import (
	"errors"
	"slices"
	"time"

	"mla/runtime/engine"
)

// ahead is requests whose tokens a device picks and runs ahead of the host. Steps are in flight before the
// host has taken the tokens of earlier steps, so the device never waits. A single request gets units of
// Config.Ahead steps. Several requests get single steps, so that a new request waits only briefly.
type ahead struct {
	*engine.Ahead // nil: no request runs ahead
	tasks         []*task
	unit          int           // steps asked for at a time
	left          int           // steps that may still be asked for; negative: no limit
	ran           int           // steps whose tokens were taken
	began         time.Time     // when the first step began
	since         time.Time     // when the current step began
	wait          time.Duration // time after since at which the next step is asked for
}

// How many tokens of requests with a drafter run without drafts, after a time when the drafter had none: few
// at first, so that little is missed, and twice as many each time until a draft is accepted. To begin steps
// ahead takes about the time of a token.
const (
	fewUnguessed  = 8
	mostUnguessed = 64
)

// unguessed is for how many tokens a request will get no drafts, in steps of a number of rows; negative: for
// all.
func (s *Scheduler) unguessed(t *task, rows int) int {
	if t.drafter == nil {
		return -1
	}
	_, textual := t.drafter.(engine.Textual)
	_, following := t.drafter.(engine.Following)
	rest := max(s.pays.Resting(), t.share.Resting())
	switch {
	case !textual && !following, s.pays.Alone(rows) == 0: // the time that drafts must beat is not known yet
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

// goAhead lets the device continue the requests of a step after the tokens that it has picked, if there are
// no other requests and the next tokens depend only on logits and draws.
func (s *Scheduler) goAhead(rows []engine.Row, tasks []*task, picked [][]int32) {
	if s.failed != nil || s.unit < 1 || len(rows) == 0 || s.steppable(tasks, 0) < 1 {
		return
	}
	a := ahead{Ahead: s.model.Ahead(rows, picked), tasks: tasks, unit: 1, left: -1}
	if a.Ahead == nil {
		return
	}
	for _, t := range tasks {
		if !t.ready() || !t.portable() {
			return
		}
		switch own := s.unguessed(t, len(rows)); {
		case own == 0:
			return
		case own > 0 && (a.left < 0 || own < a.left):
			a.left = own
		}
	}
	if len(tasks) == 1 {
		a.unit = s.unit
	}
	s.turn = round{}
	a.began = s.now()
	a.since = a.began
	s.ahead = a
	if s.ask(); s.ahead.InFlight() == 0 {
		s.ahead = ahead{}
	}
}

// steppable is how many more steps, beyond those in flight, all these tasks will need. It is 0 if another
// request is active or could join, or if a task has ended.
func (s *Scheduler) steppable(tasks []*task, inFlight int) int {
	if len(s.active) != len(tasks) || s.joins() {
		return 0
	}
	capacity := s.model.Context()
	for _, t := range tasks {
		if t.session == nil {
			return 0
		}
		capacity = min(capacity, t.session.Context()-t.done()-inFlight)
		if t.Max >= 0 {
			capacity = min(capacity, t.Max-len(t.result.Tokens)-inFlight)
		}
	}
	return capacity
}

// ask asks for further steps, if all requests last that long.
func (s *Scheduler) ask() {
	a := &s.ahead
	for a.InFlight() <= a.unit {
		n := min(a.unit, s.steppable(a.tasks, a.InFlight()))
		if a.left >= 0 {
			n = min(n, a.left)
		}
		if n < 1 {
			return
		}
		asked, err := a.Ask(n)
		if errors.As(err, new(*engine.OutOfPages)) {
			a.left = 0 // the next round has to handle this
			return
		}
		if s.failed = err; err != nil {
			return
		}
		if a.left > 0 {
			a.left -= asked
		}
		if a.unit == 1 || asked == 0 { // the next step is asked for shortly before this one ends, or after a state was copied
			return
		}
	}
}

// The next step is asked for this long before the current one ends, so that a new request which comes before
// that need not wait for both. The margin covers the submission and naps that take longer than asked.
const (
	lead     = 200 * time.Microsecond
	shortest = 100 * time.Microsecond // shortest nap
)

// await waits until the current step is about to end, or a request arrives.
func (s *Scheduler) await() {
	a := &s.ahead
	for left := a.wait; ; {
		left = min(left, a.wait-s.now().Sub(a.since))
		if left <= 0 || s.arrived() {
			break
		}
		n := max(shortest, left/2)
		nap(n)
		left -= n // also if the clock stands still
	}
	s.receive()
}

// learn adapts the wait before the next step is asked for, by the time that this step took and the time that
// the host was blocked at its end. If the host was not blocked, the step may have ended long before, and its
// time says nothing.
func (a *ahead) learn(blocked, took time.Duration) {
	switch {
	case blocked > lead:
		a.wait += (blocked - lead) / 2
	case blocked > lead/4:
		a.wait -= lead - blocked
	default:
		a.wait /= 2
	}
	a.wait = max(0, min(a.wait, took-lead))
}

// goOn takes the tokens of the oldest step in flight, and keeps further steps in flight.
func (s *Scheduler) goOn() {
	a := &s.ahead
	if len(a.tasks) > 1 {
		s.await()
	}
	if s.ask(); s.failed != nil {
		return
	}
	asked := s.now()
	picked, err := a.Next()
	if errors.Is(err, engine.ErrAgain) {
		s.endAhead()
		return
	}
	if s.failed = err; err != nil {
		return
	}
	now := s.now()
	took := now.Sub(a.since)
	a.ran++
	a.since = now
	s.steps.ahead(len(picked), took)
	if len(picked) > 1 {
		a.learn(now.Sub(asked), took)
		s.pace.ran(len(picked), took)
		s.pays.Ran(len(picked), 0, len(picked), took)
	}
	tasks := a.tasks
	if a.InFlight() == 0 {
		s.endAhead()
	}
	for i, t := range tasks {
		if t.session == nil { // the request has ended meanwhile
			continue
		}
		if len(tasks) > 1 {
			t.share.Passed(1)
		}
		t.result.Decode.Tokens++
		s.take(t, picked[i:i+1])
	}
}

// endAhead ends the run ahead. The requests continue with rows. For a single request, the times of all of its
// steps are counted together, because tokens arrive by units.
func (s *Scheduler) endAhead() {
	if a := &s.ahead; len(a.tasks) == 1 && a.ran > 0 {
		s.pays.Ahead(a.ran, s.now().Sub(a.began))
		a.tasks[0].share.Passed(a.ran)
	}
	s.ahead = ahead{}
}

// goesOn says whether a request still needs the tokens in flight.
func (a *ahead) goesOn() bool {
	return a.Ahead != nil && slices.ContainsFunc(a.tasks, func(t *task) bool { return t.session != nil })
}

// arrived says whether a request has arrived since the last call.
func (s *Scheduler) arrived() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.incoming) > 0
}

// joins says whether a waiting request would get a session.
func (s *Scheduler) joins() bool {
	return len(s.waiting) > 0 && !s.hold && len(s.active) < s.model.Sessions()
}
