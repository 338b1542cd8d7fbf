package scheduler

import (
	"errors"
	"slices"
	"time"

	"mla/runtime/engine"
)

// ahead are requests whose tokens a device picks and runs by itself. Steps are in flight
// before the host has taken the tokens of earlier steps, so the device waits for nothing. A single
// request gets units of Config.Ahead steps: a new request waits for little then. Several
// requests get single steps.
type ahead struct {
	*engine.Ahead // nil: there are none
	tasks         []*task
	unit          int           // steps asked for at a time
	left          int           // steps that may still be asked for; negative: any number
	ran           int           // steps taken
	began         time.Time     // the first
	since         time.Time     // when the step under way began
	wait          time.Duration // from then on until the next one is asked for
}

// How many tokens of requests that draft run without a draft, once a drafter had none: few at
// first, so that little is missed, and twice as many each time until a draft is right. To begin
// steps ahead takes the time of a part of a token.
const (
	fewUnguessed  = 8
	mostUnguessed = 64
)

// unguessed is for how many tokens a request need not guess, in steps of a given number of rows; negative:
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

// goAhead lets the device go on with the requests of a step, after the tokens that it has
// picked, if there are no others and nothing but the logits decides about their tokens.
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

// steppable is how many more steps than those under way all these tasks have to come: none, if
// somebody else is there or could join, or one of them has ended.
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

// ask asks for steps after those under way, if all of the requests go on for as long.
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
			a.left = 0 // a round has to say what becomes of that
			return
		}
		if s.failed = err; err != nil {
			return
		}
		if a.left > 0 {
			a.left -= asked
		}
		if a.unit == 1 || asked == 0 { // the next one is asked for when this one is about to end, or once a state is copied
			return
		}
	}
}

// A step is asked for this long before the step in flight ends, so that a request that comes until
// then does not wait for both. Handing the step over takes some of that time, and naps take longer
// than they should.
const (
	lead     = 200 * time.Microsecond
	shortest = 100 * time.Microsecond // nap
)

// await waits until the step under way is about to end, or somebody comes.
func (s *Scheduler) await() {
	a := &s.ahead
	for left := a.wait; ; {
		left = min(left, a.wait-s.now().Sub(a.since))
		if left <= 0 || s.arrived() {
			break
		}
		n := max(shortest, left/2)
		nap(n)
		left -= n // also where the clock stands still
	}
	s.receive()
}

// learn sets for how long to wait in the next step: this one took so long, and the host was
// blocked for some of that at its end, for too long or not long enough. Where it was not at all
// the step may have ended long before, so what it took says nothing.
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

// goOn takes the tokens of the step that was asked for first, with the next ones under way.
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
		if t.session == nil { // it has ended since
			continue
		}
		if len(tasks) > 1 {
			t.share.Passed(1)
		}
		t.result.Decode.Tokens++
		s.take(t, picked[i:i+1])
	}
}

// endAhead ends what a device does by itself. The requests go on with rows. How long steps of
// one request take is counted of all together, as their tokens come by units.
func (s *Scheduler) endAhead() {
	if a := &s.ahead; len(a.tasks) == 1 && a.ran > 0 {
		s.pays.Ahead(a.ran, s.now().Sub(a.began))
		a.tasks[0].share.Passed(a.ran)
	}
	s.ahead = ahead{}
}

// goesOn says whether somebody wants the tokens that are under way.
func (a *ahead) goesOn() bool {
	return a.Ahead != nil && slices.ContainsFunc(a.tasks, func(t *task) bool { return t.session != nil })
}

// arrived says whether somebody has come since the last look.
func (s *Scheduler) arrived() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.incoming) > 0
}

// joins says whether a request that waits would get a session.
func (s *Scheduler) joins() bool {
	return len(s.waiting) > 0 && !s.hold && len(s.active) < s.model.Sessions()
}
