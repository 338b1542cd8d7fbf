package scheduler

import (
	"slices"
	"time"

	"mla/runtime/engine"
	"mla/runtime/plan"
)

// round is the rest of the current round.
type round struct {
	decode  []*task // tasks that wait for their row
	prompts int     // rows of prompts that may still run
	piece   *task   // the task whose prompt got the last row
	rows    int     // rows that have run
	took    time.Duration
}

// ran records a step, and at the end of the round the whole round: a decoding request waits for all of it,
// even if it takes several steps.
func (r *round) ran(p *pace, rows int, took time.Duration) {
	r.rows, r.took = r.rows+rows, r.took+took
	if len(r.decode) == 0 && r.prompts == 0 {
		p.ran(r.rows, r.took)
	}
}

// rows returns the rows of the next step with their tasks; none if there is nothing to run.
func (s *Scheduler) rows() (rows []engine.Row, tasks []*task) {
	for s.failed == nil && len(rows) == 0 {
		s.join()
		if len(s.active) == 0 {
			return nil, nil
		}
		fresh := len(s.turn.decode) == 0 && s.turn.prompts == 0
		if fresh {
			s.begin()
		}
		for len(s.turn.decode) > 0 && len(rows) < s.width {
			t := s.turn.decode[0]
			s.turn.decode = s.turn.decode[1:]
			if s.reserve(t, 1) {
				rows, tasks = append(rows, t.row(0)), append(tasks, t)
			}
		}
		for s.turn.prompts > 0 && len(rows) < s.width {
			t, n := s.piece(min(s.turn.prompts, s.width-len(rows)), tasks)
			if t == nil {
				s.turn.prompts = 0 // no task can use them
			}
			for i := range n {
				rows, tasks = append(rows, t.row(i)), append(tasks, t)
			}
			s.turn.prompts -= n
		}
		if fresh && len(rows) == 0 && s.failed == nil && !slices.ContainsFunc(s.active, (*task).ready) {
			s.makeRoom()
		}
	}
	return rows, tasks
}

// begin begins a round.
func (s *Scheduler) begin() {
	s.turn = round{}
	for _, t := range s.active {
		if t.decoding() {
			s.turn.decode = append(s.turn.decode, t)
		}
	}
	if n := len(s.turn.decode); n > 0 {
		s.turn.prompts = s.pace.beside(n, s.promptRows)
	} else {
		s.turn.prompts = s.pace.alone(min(s.promptRows, s.width), s.width)
	}
}

// piece returns a task whose prompt gets n rows, at most most: the current one, or the next in turn. It is
// nil if no task can use rows. A step has at most one piece of a task.
func (s *Scheduler) piece(most int, step []*task) (t *task, n int) {
	if t := s.turn.piece; t != nil && slices.Contains(s.active, t) && !t.decoding() && !slices.Contains(step, t) {
		if n := s.capacity(t, most); n > 0 {
			return t, n
		}
	}
	for _, t := range s.inTurn() {
		if t == s.turn.piece || t.decoding() || slices.Contains(step, t) || s.follows(t) {
			continue
		}
		if s.failed = t.reuse(); s.failed != nil {
			return nil, 0
		}
		if t.decoding() || s.follows(t) { // its state after it has reused rows
			continue
		}
		if n := s.capacity(t, most); n > 0 {
			s.turn.piece, s.last = t, t.number
			return t, n
		}
	}
	return nil, 0
}

// inTurn lists all active tasks, beginning after the task of the last piece.
func (s *Scheduler) inTurn() []*task {
	at := slices.IndexFunc(s.active, func(t *task) bool { return t.number > s.last })
	if at < 0 {
		at = 0
	}
	return slices.Concat(s.active[at:], s.active[:at])
}

// follows says whether another task, which joined earlier, is about to fill the task's next page with the
// same tokens.
func (s *Scheduler) follows(t *task) bool {
	end := (t.done()/plan.PageRows + 1) * plan.PageRows
	if len(t.text) < end {
		return false
	}
	for _, u := range s.active {
		switch {
		case u == t:
			return false
		case u.Scope == t.Scope && !u.waits && len(u.text) >= end && u.done() >= t.done() && u.done() < end && slices.Equal(u.text[:end], t.text[:end]):
			return true
		}
	}
	return false
}
