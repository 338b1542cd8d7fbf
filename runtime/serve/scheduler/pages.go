package scheduler

import (
	"errors"
	"slices"
	"time"

	"mla/runtime/engine"
)

// join gives sessions to those who wait, as far as there are any. Nobody joins while a
// request waits for pages.
func (s *Scheduler) join() {
	for len(s.waiting) > 0 && !s.hold && !slices.ContainsFunc(s.active, func(t *task) bool { return t.waits }) {
		t := s.waiting[0]
		session, err := s.model.NewScopedSession(t.Scope)
		var many *engine.SessionsError
		switch {
		case errors.As(err, &many) && len(s.active) > 0:
			return
		case errors.As(err, &many):
			s.end(t, engine.ReasonError, err) // others have them, and nobody here will close one
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

// reserve makes room for n rows of a task, or notes that it waits for pages.
func (s *Scheduler) reserve(t *task, n int) bool {
	err := t.session.Reserve(n)
	var out *engine.OutOfPages
	t.waits = errors.As(err, &out)
	if err != nil && !t.waits {
		s.failed = err
	}
	return err == nil
}

// capacity is for how many of a task's remaining rows there are pages, most at most.
func (s *Scheduler) capacity(t *task, most int) int {
	for n := min(t.left(), most); n > 0 && s.failed == nil; n-- {
		if s.reserve(t, n) {
			return n
		}
	}
	return 0
}

// makeRoom is for when all tasks wait for pages. The one that joined last gives its own
// back, and runs its text again once another has ended. One that is alone cannot be
// helped.
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
