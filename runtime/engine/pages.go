package engine

import (
	"errors"
	"fmt"

	"mla/runtime/engine/paging"
	"mla/runtime/plan"
)

// reserveRows is for how many tokens a model's only session reserves pages in advance, if there are enough:
// the device waits whenever its block table changes. With several sessions, none reserves pages that it may
// not need.
const reserveRows = 4 * plan.PageRows

// OutOfPages says that a session cannot run more tokens, because other sessions hold the pages. The session
// is unchanged, and can continue once another one is closed or shortened.
type OutOfPages struct {
	Rows, After              int // tokens to run, and the session's tokens
	Needed, Available, Total int // pages
}

func (e *OutOfPages) Error() string {
	return fmt.Sprintf("out of pages: %d tokens after %d take %d more, and of %d (each for %d tokens) %d can be had; "+
		"close other sessions, or load the model with more pages", e.Rows, e.After, e.Needed, e.Total, plan.PageRows, e.Available)
}

// begin gives the session a new, empty sequence of pages.
func (s *Session) begin(private bool) {
	if private {
		s.pages = s.model.pool.OpenPrivate()
		return
	}
	s.pages, _ = s.model.pool.Open(s.scope, nil) // without a prompt no pages are found, so there are no orders
}

// Reserve reserves pages for n more tokens: all of them, or none and it returns *OutOfPages. The methods that
// run tokens call it themselves.
func (s *Session) Reserve(n int) error {
	if err := s.usable(); err != nil || n <= s.pages.Capacity() {
		return err
	}
	most := n
	if len(s.model.sessions) == 1 {
		most = max(n, min(reserveRows, s.model.context-len(s.tokens)))
	}
	o, err := s.pages.Reserve(most)
	if err != nil && most > n {
		o, err = s.pages.Reserve(n)
	}
	var out *paging.OutOfPages
	if errors.As(err, &out) {
		return &OutOfPages{Rows: n, After: len(s.tokens), Needed: out.Needed, Available: out.Available, Total: out.Total}
	}
	if err != nil {
		return err
	}
	return s.model.order(s, o)
}

// Reuse appends those of the next tokens whose rows are in the pool, at most all but the last token, and
// returns their number.
func (s *Session) Reuse(next []int32) (int, error) {
	if err := s.usable(); err != nil {
		return 0, err
	}
	next = next[:max(0, min(len(next), s.model.context-len(s.tokens)))]
	if err := s.model.feedAll(); err != nil {
		return 0, err
	}
	o, err := s.pages.Reuse(next)
	if err != nil {
		return 0, err
	}
	found := s.pages.Len() - len(s.tokens)
	defer s.planStates(next[found:])
	if found > 0 && s.model.stateful() {
		at, state := s.pages.StateBefore(s.pages.Len())
		if at != s.pages.Len() {
			return 0, fmt.Errorf("%d tokens were found, and a state after %d", s.pages.Len(), at)
		}
		if err := s.resume(at, state); err != nil {
			return 0, err
		}
	}
	if found > 0 {
		s.tokens, s.logits = append(s.tokens, next[:found]...), nil
		s.fed.from(len(s.tokens))
	}
	return found, s.model.order(s, o)
}

// add appends tokens to the timeline whose rows the device has, or will have before any later work.
func (s *Session) add(tokens ...int32) error {
	s.tokens = append(s.tokens, tokens...)
	if len(s.fed.states) != len(s.tokens)-s.fed.n+1 { // the tokens' hidden states were not kept
		s.missed()
	}
	o, err := s.pages.Append(tokens)
	if err != nil {
		return err
	}
	return s.model.order(s, o)
}

// rewind removes all tokens from position n on, and restores the state there.
func (s *Session) rewind(n int) error {
	if s.model.stateful() && n != s.folded {
		return s.rewindState(n)
	}
	return s.cut(n)
}

// cut removes all tokens from position n on, but leaves the state as it is.
func (s *Session) cut(n int) error {
	if s.mark.at > n {
		s.mark.at = 0
	}
	s.turned = min(s.turned, n)
	if len(s.tokens)/plan.PageRows > n/plan.PageRows { // other sessions may find the full page that is now cut
		if err := s.feedOn(); err != nil {
			return err
		}
	}
	s.tokens, s.logits = s.tokens[:n], nil
	s.fed.from(n)
	if s.pretends && n == 0 {
		s.pretends = false
		s.pages.Close()
		s.begin(s.private)
	}
	return s.pages.Truncate(n)
}

// usable fails if the session or the model is closed, or if the device has failed.
func (s *Session) usable() error {
	if s.closed {
		return errClosed
	}
	return s.model.failed
}
