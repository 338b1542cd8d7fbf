package scheduler

import (
	"errors"
	"slices"
	"time"

	"mla/runtime/engine"
)

// together are several requests whose tokens a device picks and runs by itself: each step is
// under way before the tokens of the one before have been taken.
type together struct {
	tasks []*task
	ahead *engine.StepsAhead // nil: there are none
	left  int                // steps that may still be asked for; negative: any number
	since time.Time          // when the step under way began
	wait  time.Duration      // from then on until the next one is asked for
}

// beginTogether lets the device go on with the requests of a step, behind the tokens that it
// has picked, if there are no others and nothing but the logits decides about their tokens.
func (s *Scheduler) beginTogether(rows []engine.Row, tasks []*task, picked [][]int32) {
	if s.failed != nil || s.unit < 1 || len(rows) < 2 || !s.goesOn(tasks, 1) {
		return
	}
	ahead := s.model.StepsAhead(rows, picked)
	if ahead == nil {
		return
	}
	left := -1
	for _, t := range tasks {
		if !t.ready() || !t.portable() {
			return
		}
		switch own := s.unguessed(t, len(rows)); {
		case own == 0:
			return
		case own > 0 && (left < 0 || own < left):
			left = own
		}
	}
	s.turn = round{}
	s.together = together{tasks: tasks, ahead: ahead, left: left, since: s.now()}
	if s.askTogether(); ahead.InFlight() == 0 {
		s.together = together{}
	}
}

// goesOn says whether nobody else is there or could join, and all these tasks are there still
// and have so many tokens to come.
func (s *Scheduler) goesOn(tasks []*task, tokens int) bool {
	return len(s.active) == len(tasks) && !s.joins() && !slices.ContainsFunc(tasks, func(t *task) bool {
		return t.session == nil || t.Max >= 0 && len(t.result.Tokens)+tokens > t.Max || t.done()+tokens > t.session.Context()
	})
}

// askTogether asks for one more step, if all of them go on for as long.
func (s *Scheduler) askTogether() {
	g := &s.together
	if inFlight := g.ahead.InFlight(); g.left == 0 || inFlight == g.ahead.Most() || !s.goesOn(g.tasks, inFlight+1) {
		return
	}
	err := g.ahead.Ask()
	if out := (*engine.OutOfPages)(nil); errors.As(err, &out) {
		g.left = 0 // a round has to say what becomes of that
		return
	}
	s.failed = err
	g.left--
}

// A step is asked for so long before the one under way ends: who comes until then need not wait
// for both. It takes some of that to hand it over, and naps take longer than they should.
const (
	lead     = 200 * time.Microsecond
	shortest = 100 * time.Microsecond // nap
)

// awaitTogether waits until the step under way is about to end, or somebody comes.
func (s *Scheduler) awaitTogether() {
	g := &s.together
	for left := g.wait; ; {
		left = min(left, g.wait-s.now().Sub(g.since))
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
func (g *together) learn(blocked, took time.Duration) {
	switch {
	case blocked > lead:
		g.wait += (blocked - lead) / 2
	case blocked > lead/4:
		g.wait -= lead - blocked
	default:
		g.wait /= 2
	}
	g.wait = max(0, min(g.wait, took-lead))
}

// goOnTogether takes the tokens of the step that was asked for first, with the next one under way.
func (s *Scheduler) goOnTogether() {
	g := &s.together
	s.awaitTogether()
	if s.askTogether(); s.failed != nil {
		return
	}
	asked := s.now()
	picked, err := g.ahead.Next()
	if s.failed = err; err != nil {
		return
	}
	now := s.now()
	took := now.Sub(g.since)
	g.learn(now.Sub(asked), took)
	g.since = now
	s.steps.ahead(len(picked), took)
	s.pace.ran(len(picked), took)
	s.pays.Ran(len(picked), 0, len(picked), took)
	tasks := g.tasks
	if g.ahead.InFlight() == 0 {
		s.together = together{}
	}
	for i, t := range tasks {
		if t.session != nil { // else it has ended since
			t.share.Passed(1)
			t.result.Decode.Tokens++
			s.take(t, picked[i:i+1])
		}
	}
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
