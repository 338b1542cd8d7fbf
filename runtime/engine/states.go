package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"mla/runtime/device"
	"mla/runtime/engine/promptcache"
	"mla/runtime/plan"
)

// A model with linear attention has, beside its pages, a state of each session, which has folded all tokens of the
// timeline and cannot be taken back. So a session that goes back needs a copy of an earlier state. Copies are kept in the host's
// memory, with the pages of the pool that they belong after (paging.Pool.KeepStates):
//
//   - at the last end of a page in front of a prompt's last token;
//   - where a prompt has left what others began with too, such as a system prompt with its tools;
//   - at the last end of a page of what was generated.
//
// Before guesses are run there is one more, so that those that were wrong can be forgotten (Session.mark).

// statesPerSession is how many copies of states are kept for each session that can be open at a time.
const statesPerSession = 8

// StateBudget is the most memory that copies of states of a given number of bytes take.
func StateBudget(cfg device.Config, stateBytes int) int64 {
	each := int64(stateBytes)
	if cfg.CacheRAM == 0 {
		return statesPerSession * int64(max(cfg.Tables, 1)) * each
	}
	pages := int64(cmp.Or(cfg.Pages, plan.Pages(cfg.Context))) // each has one at most
	return max(0, min(cfg.CacheRAM, pages*each))
}

// mark is a copy of a state after the first tokens of a timeline.
type mark struct {
	at    int // 0: there is none
	state []byte
}

// stateful says whether sessions have states.
func (m *Model) stateful() bool { return m.states != nil }

// keepsStates says whether copies of the session's states are kept.
func (s *Session) keepsStates() bool {
	return s.model.stateful() && !s.closed && !s.private && !s.pretends
}

// readState copies a session's state, into memory that may be its own already.
func (s *Session) readState(into []byte) ([]byte, error) {
	if into == nil {
		into = make([]byte, s.model.states.StateBytes())
	}
	return into, s.model.fail(s.model.states.ReadState(s.table, into))
}

// resume makes the state that after the first n tokens, a copy of it, or nothing in front of position 0.
func (s *Session) resume(n int, state []byte) error {
	if s.folded = n; n == 0 {
		return nil // a row at position 0 begins with zeros
	}
	return s.model.fail(s.model.states.WriteState(s.table, state))
}

// after is the deepest position up to n of the timeline after which the state is known, and that; 0: there is none.
func (s *Session) after(n int) (at int, state []byte) {
	at, state = s.pages.StateBefore(n)
	if m := &s.mark; m.at <= n && m.at > at {
		return m.at, m.state
	}
	return at, state
}

// resumable is how many of the first n tokens of the timeline can stay without any being run again.
func (s *Session) resumable(n int) int {
	if !s.model.stateful() || n == s.folded {
		return n
	}
	at, _ := s.after(n)
	return at
}

// rewindState forgets all tokens from position n on. Tokens before it that are after the last known state are run
// again.
func (s *Session) rewindState(n int) error {
	at, state := s.after(n)
	again := slices.Clone(s.tokens[at:n])
	if err := s.cut(at); err != nil {
		return err
	}
	if err := s.resume(at, state); err != nil {
		return err
	}
	for piece := range slices.Chunk(again, s.model.Width()) {
		if err := s.Reserve(len(piece)); err != nil {
			return err
		}
		if err := s.runAll(piece, false); err != nil {
			return err
		}
	}
	return nil
}

// planStates says where copies of the state are to be made while the tokens that are to follow are run: they are a prompt's.
func (s *Session) planStates(next []int32) {
	if !s.keepsStates() {
		return
	}
	end := len(s.tokens) + len(next)
	s.prompted, s.stops = end, s.stops[:0]
	for _, at := range []int{s.pages.Known(), (end - 1) / plan.PageRows * plan.PageRows} {
		if at > len(s.tokens) && at < end && !slices.Contains(s.stops, at) {
			s.stops = append(s.stops, at)
		}
	}
	slices.Sort(s.stops)
}

// until is how many of n rows one replay may run, so that it ends where the state is copied: after is how many other rows it
// runs before them.
func (s *Session) until(after, n int) int {
	at := len(s.tokens) + after
	for _, stop := range s.stops {
		if at < stop {
			return min(n, stop-at)
		}
	}
	return n
}

// markGuesses copies the states of sessions of which several rows may be the last: some are guesses.
func (m *Model) markGuesses(rows []Row) (err error) {
	for i, r := range rows {
		s := r.Session
		if i == 0 || !r.Logits || rows[i-1].Session != s || !rows[i-1].Logits || s.mark.at == len(s.tokens) {
			continue
		}
		if s.mark.state, err = s.readState(s.mark.state); err != nil {
			return err
		}
		s.mark.at = len(s.tokens)
	}
	return nil
}

// folds makes the states of rows' sessions those after their timelines: a device that went on by itself may have folded
// more tokens.
func (m *Model) folds(rows []Row) error {
	for _, r := range rows {
		if s := r.Session; s.folded != len(s.tokens) {
			if err := s.rewindState(len(s.tokens)); err != nil {
				return err
			}
		}
	}
	return m.markGuesses(rows)
}

// saveStates keeps the states of sessions whose rows were run, where that is planned.
func (m *Model) saveStates(rows []Row) error {
	for i, r := range rows {
		if last := i+1 == len(rows) || rows[i+1].Session != r.Session; last && r.Session.keepsStates() {
			if err := r.Session.saveState(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Session) saveState() error {
	n := len(s.tokens)
	generated := n >= s.prompted
	if !generated && !slices.Contains(s.stops, n) || !s.pages.Saves(s.model.states.StateBytes()) {
		return nil
	}
	state, err := s.readState(nil)
	if err != nil {
		return err
	}
	if generated {
		s.pages.ForgetState(s.turned)
		s.turned = n
	}
	s.pages.SaveState(state)
	return nil
}

// stateAfter is the state after the first n tokens, a copy; nil: sessions have none.
func (s *Session) stateAfter(n int) ([]byte, error) {
	switch at, state := s.after(n); {
	case !s.model.stateful():
		return nil, nil
	case n == s.folded:
		return s.readState(nil)
	case at == n && n > 0:
		return state, nil
	}
	return nil, fmt.Errorf("there is no copy of the state after the first %d tokens", n)
}

// restoreState goes on after the tokens of a file, whose pages are the timeline's, or gives up all but the first keep.
func (s *Session) restoreState(ctx context.Context, f *promptcache.File, keep int, err error) error {
	state, failed := f.State(ctx)
	if err = errors.Join(err, failed); err != nil {
		return errors.Join(err, s.cut(keep))
	}
	if err := s.resume(len(s.tokens), state); err != nil {
		return err
	}
	s.pages.SaveState(state)
	return nil
}

// forgetState is for a timeline that begins anew.
func (s *Session) forgetState() {
	s.folded, s.prompted, s.turned, s.stops, s.mark.at = 0, 0, 0, nil, 0
}

// StateBytes is the size of a session's state; 0: the model has none.
func (m *Model) StateBytes() int {
	if !m.stateful() {
		return 0
	}
	return m.states.StateBytes()
}

// States is how many copies of states there are in the host's memory, and how many bytes they have.
func (m *Model) States() (n int, bytes int64) { return m.pool.States() }

// keepStates makes a new pool one that keeps states, if sessions have some.
func (m *Model) keepStates() {
	if m.states = device.StatesOf(m.runner); m.stateful() {
		m.pool.KeepStates(StateBudget(m.cfg, m.states.StateBytes()))
	}
}
