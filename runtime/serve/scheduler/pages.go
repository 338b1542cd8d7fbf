package scheduler

import (
	"errors"
	"slices"
	"time"

	"mla/runtime/engine"
)

// join gives sessions to waiting requests while there are any. No request joins while another one waits for
// pages.
func (s *Scheduler) join() {
	for len(s.waiting) > 0 && !s.hold && !slices.ContainsFunc(s.active, func(t *task) bool { return t.waits }) {
		t := s.waiting[0]
		session, err := s.model.NewScopedSession(t.Scope)
		var many *engine.SessionsError
		switch {
		case errors.As(err, &many) && len(s.active) > 0:
			return
		case errors.As(err, &many):
			s.end(t, engine.ReasonError, err) // other users of the model have all sessions, and no request here will free one
			continue
		case err != nil:
			s.failed = err
			return
		}
		t.session = session
		if t.Draft != nil {
			if t.drafter, s.failed = t.Draft(session); s.failed != nil {
				return
			}
		}
		if t.began.IsZero() {
			t.began = time.Now()
		}
		s.waiting, s.active = s.waiting[1:], append(s.active, t)
	}
}

// reserve reserves pages for n rows of a task, or records that the task waits for pages.
func (s *Scheduler) reserve(t *task, n int) bool {
	err := t.session.Reserve(n)
	var out *engine.OutOfPages
	t.waits = errors.As(err, &out)
	if err != nil && !t.waits {
		s.failed = err
	}
	return err == nil
}

// capacity is how many of a task's remaining rows, at most most, have pages.
func (s *Scheduler) capacity(t *task, most int) int {
	for n := min(t.left(), most); n > 0 && s.failed == nil; n-- {
		if s.reserve(t, n) {
			return n
		}
	}
	return 0
}

// makeRoom handles the case that all tasks wait for pages. The task that joined last releases its pages, and
// runs its text again after another task has ended. A single task fails.
func (s *Scheduler) makeRoom() {
	at := len(s.active) - 1
	t := s.active[at]
	if at == 0 {
		s.end(t, engine.ReasonError, t.session.Reserve(1))
		return
	}
	if s.failed = t.close(); s.failed != nil {
		return
	}
	t.waits = false
	if !t.started() {
		t.result.Reused = 0
	}
	s.active = s.active[:at]
	s.waiting = slices.Insert(s.waiting, 0, t)
	s.hold = true
}
