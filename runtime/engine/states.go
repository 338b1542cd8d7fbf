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

// In a model with linear attention, each session has a state beside its pages. The state has folded all
// tokens of the timeline, and no token can be removed from it. So to go back, a session needs a copy of an
// earlier state. Copies are kept in the host's memory, with the pages of the pool after which they belong
// (paging.Pool.KeepStates):
//
//   - at the last end of a page before a prompt's last token;
//   - where a prompt differs from a beginning that other prompts share, such as a system prompt with its tools;
//   - at the last end of a page within the generated text.
//
// Before drafts are run, one more copy is made, so that drafts that are not accepted can be removed
// (Session.mark).

// statesPerSession is the default number of saved states for each session that can be open.
const statesPerSession = 8

// StateBudget is the most memory that saved states of stateBytes each take.
func StateBudget(cfg device.Config, stateBytes int) int64 {
	each := int64(stateBytes)
	if cfg.CacheRAM == 0 {
		return statesPerSession * int64(max(cfg.Tables, 1)) * each
	}
	pages := int64(cmp.Or(cfg.Pages, plan.Pages(cfg.Context))) // each page has at most one
	return max(0, min(cfg.CacheRAM, pages*each))
}

// mark is a copy of the state after the first tokens of a timeline.
type mark struct {
	at    int // number of these tokens; 0: there is no copy
	state []byte
}

// stateful says whether sessions have states.
func (m *Model) stateful() bool { return m.states != nil }

// keepsStates says whether copies of the session's states are kept.
func (s *Session) keepsStates() bool {
	return s.model.stateful() && !s.closed && !s.private && !s.pretends
}

// readState copies a session's state, into the given memory if it is large enough.
func (s *Session) readState(into []byte) ([]byte, error) {
	if into == nil {
		into = make([]byte, s.model.states.StateBytes())
	}
	return into, s.model.fail(s.model.states.ReadState(s.table, into))
}

// resume sets the session's state to that after the first n tokens; state is a copy of it, or nil at position
// 0.
func (s *Session) resume(n int, state []byte) error {
	if s.folded = n; n == 0 {
		return nil // a row at position 0 begins with a zero state
	}
	return s.model.fail(s.model.states.WriteState(s.table, state))
}

// after returns the deepest position up to n with a known state, and the state; 0: there is none.
func (s *Session) after(n int) (at int, state []byte) {
	at, state = s.pages.StateBefore(n)
	if m := &s.mark; m.at <= n && m.at > at {
		return m.at, m.state
	}
	return at, state
}

// resumable is how many of the timeline's first n tokens can be kept without running any of them again.
func (s *Session) resumable(n int) int {
	if !s.model.stateful() || n == s.folded {
		return n
	}
	at, _ := s.after(n)
	return at
}

// rewindState removes all tokens from position n on. Tokens between the last known state and n are run again.
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

// planStates plans the positions at which the state is copied while the tokens of a prompt are run.
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

// until is how many of n rows the next replay may run, so that it ends where the state is to be copied. after
// is the number of other rows of the session in the same replay, before them.
func (s *Session) until(after, n int) int {
	at := len(s.tokens) + after
	for _, stop := range s.stops {
		if at < stop {
			return min(n, stop-at)
		}
	}
	return n
}

// markGuesses copies the states of the sessions with drafts, as any of their rows may become the last one.
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

// folds restores the states of the rows' sessions to their timelines. A device that ran ahead may have folded
// further tokens.
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

// saveStates saves the states of sessions whose rows were run up to a planned position.
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

// stateAfter is a copy of the state after the first n tokens; nil: sessions have none.
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

// restoreState continues after the tokens of a file, whose pages are on the timeline. If err or the state
// prevents that, it keeps only the first keep tokens.
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

// forgetState resets the state for a timeline that begins anew.
func (s *Session) forgetState() {
	s.folded, s.prompted, s.turned, s.stops, s.mark.at = 0, 0, 0, nil, 0
}

// StateBytes is the size in bytes of a session's state; 0: the model has none.
func (m *Model) StateBytes() int {
	if !m.stateful() {
		return 0
	}
	return m.states.StateBytes()
}

// States is the number of saved states in the host's memory, and their bytes.
func (m *Model) States() (n int, bytes int64) { return m.pool.States() }

// keepStates makes a new pool keep states, if sessions have some.
func (m *Model) keepStates() {
	if m.states = device.StatesOf(m.runner); m.stateful() {
		m.pool.KeepStates(StateBudget(m.cfg, m.states.StateBytes()))
	}
}
