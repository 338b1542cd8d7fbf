package scheduler

import (
	"slices"
	"time"

	"mla/runtime/engine"
	"mla/runtime/plan"
)

// run runs the rows of a step, with drafts in rows that are otherwise unused, if drafts pay.
func (s *Scheduler) run(rows []engine.Row, tasks []*task) (picked [][]int32, err error) {
	quiet := !slices.ContainsFunc(s.active, func(t *task) bool { return t.waits || !t.started() || t.left() > 1 })
	guessing := quiet && s.pays.Now(len(rows))
	s.follow(tasks, guessing)
	start := s.now()
	guesses := 0
	if guessing {
		guesses = s.guess(rows, tasks)
	}
	picked, err = s.model.Pick(rows)
	if err == nil && guesses == 0 {
		s.turn.ran(&s.pace, len(rows), s.now().Sub(start))
	}
	if err != nil || !quiet {
		return picked, err
	}
	tokens, took := 0, s.now().Sub(start)
	for _, p := range picked {
		tokens += len(p)
	}
	if guesses > 0 {
		guess, token := s.pays.Shares(len(rows), guesses, took)
		for i, t := range tasks {
			t.share.Ran(len(rows[i].Guesses), len(picked[i])-1, guess, token)
		}
	}
	s.pays.Ran(len(rows), guesses, tokens, took)
	return picked, nil
}

// follow lets the drafters that are about to draft run the tokens that they have missed, unless that takes
// too long. Drafters in a pause miss tokens. If no request drafts, the pauses of all requests count down
// together.
func (s *Scheduler) follow(tasks []*task, guessing bool) {
	for _, t := range tasks {
		if !guessing {
			t.share.Passed(1)
		}
		f, ok := t.drafter.(engine.Following)
		if !ok {
			continue
		}
		if guessing && t.share.Resting() == 0 {
			if _, ok := s.catches.Do(f, s.pays.Alone(len(tasks))/time.Duration(len(tasks)), s.now); !ok {
				t.share.Rest()
			}
		}
		f.Rest(t.started() && max(s.pays.Resting(), t.share.Resting()) > 0)
	}
}

// settle lets the drafter of an ending request run the tokens that it has missed, if that is quick, so that a
// later request with the same tokens finds its rows.
func (s *Scheduler) settle(t *task) {
	if f, ok := t.drafter.(engine.Following); ok && s.failed == nil {
		_, ok := s.catches.Do(f, s.pays.Alone(1), s.now)
		f.Rest(!ok)
	}
}

// guess adds drafts to rows, one row of each task. The tasks share the free rows of the width. Batches of more
// than plan.DefaultBatch rows get no drafts: whether drafts pay there was not measured.
func (s *Scheduler) guess(rows []engine.Row, tasks []*task) (n int) {
	capacity := min(s.width, plan.DefaultBatch) - len(rows)
	for i, t := range tasks {
		own := t.guess(capacity / (len(rows) - i))
		rows[i].Guesses = own
		capacity, n = capacity-len(own), n+len(own)
	}
	return n
}

// guess returns at most n drafts, for which the session has pages.
func (t *task) guess(n int) []int32 {
	if t.Max >= 0 {
		n = min(n, t.Max-len(t.result.Tokens)-1)
	}
	n = min(n, t.session.Context()-len(t.text))
	if t.drafter == nil || n < 1 || !t.portable() {
		return nil
	}
	if t.share.Resting() > 0 {
		t.share.Passed(1)
		return nil
	}
	list := t.drafter.Propose(t.text, n)
	list = list[:min(n, len(list))]
	if t.session.Reserve(1+len(list)) != nil { // the row alone has its page already
		return nil
	}
	t.result.Drafted += len(list)
	return list
}
