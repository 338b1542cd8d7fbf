package engine

import (
	"errors"
	"slices"

	"mla/runtime/device"
	"mla/runtime/plan"
)

// Ahead is a device's steps ahead of the host, for some sessions: the device picks tokens and runs them while
// the host handles earlier ones. Steps in flight are dropped when anything else runs on the model; those of a
// session also when it is closed.
type Ahead struct {
	model    *Model
	device   device.Picker
	sessions []*Session
	samplers []Portable
	picked   []int32 // the last tokens: the next step runs them
	inFlight int     // steps whose tokens Next has not returned
}

// Ahead continues the last Pick, which must have had these rows and picked these tokens. It is nil if the
// device cannot continue: if it has not picked all of the tokens in one replay, or if its next picks depend
// on the picked tokens.
func (m *Model) Ahead(rows []Row, picked [][]int32) *Ahead {
	d, ok := m.runner.(device.Picker)
	if !ok || !slices.EqualFunc(rows, m.pickers, func(r Row, s *Session) bool { return r.Session == s && len(r.Guesses) == 0 }) {
		return nil
	}
	a := &Ahead{model: m, device: d}
	for i, r := range rows {
		p, ok := r.Sampler.(Portable)
		if !ok || slices.Contains(a.sessions, r.Session) {
			return nil
		}
		if state := p.Sampling(); state == nil || !state.Repeats() {
			return nil
		}
		a.sessions, a.samplers, a.picked = append(a.sessions, r.Session), append(a.samplers, p), append(a.picked, picked[i][0])
	}
	m.ahead = a
	return a
}

// InFlight is the number of steps that were asked for and whose tokens Next has not returned.
func (a *Ahead) InFlight() int { return a.inFlight }

// Capacity is how many more steps can be asked for, within the contexts of all sessions and the tokens that
// the device can keep. 0: something else has run on the model.
func (a *Ahead) Capacity() int {
	if a.model.ahead != a {
		return 0
	}
	capacity := device.MaxAhead - a.inFlight
	for _, s := range a.sessions {
		capacity = min(capacity, a.model.context-len(s.tokens)-a.inFlight)
	}
	return capacity
}

// Ask submits up to n more steps as one unit of work, and returns how many: as many as there are pages for,
// and at most up to the next position at which a state is copied. All sessions must be open, and n must be at
// most Capacity. If it returns *OutOfPages, nothing was submitted.
func (a *Ahead) Ask(n int) (asked int, err error) {
	switch {
	case a.model.ahead != a:
		return 0, errOther
	case n < 1:
		return 0, nil
	}
	if n = min(n, a.beforeCopy()); n < 1 {
		return 0, nil
	}
	for ; n > 0; n-- {
		if err = a.reserve(a.inFlight + n); !errors.As(err, new(*OutOfPages)) {
			break
		}
	}
	if err != nil {
		return 0, err
	}
	if err := a.device.Continue(n); err != nil {
		return 0, a.model.fail(err)
	}
	a.model.turn()
	a.model.ahead = a
	a.inFlight += n
	for _, s := range a.sessions {
		s.folded += n
	}
	return n, nil
}

// beforeCopy is how many more steps can be asked for before the state of a session has to be copied. When a
// text ends, steps in flight may have folded tokens into the state that are not part of the text. The session
// then continues from the copy.
func (a *Ahead) beforeCopy() int {
	n := device.MaxAhead
	for _, s := range a.sessions {
		if s.keepsStates() {
			n = min(n, plan.PageRows-len(s.tokens)%plan.PageRows-a.inFlight)
		}
	}
	return n
}

// reserve gives each session pages for n more tokens.
func (a *Ahead) reserve(n int) error {
	for _, s := range a.sessions {
		if err := s.Reserve(n); err != nil {
			return err
		}
	}
	return nil
}

// ErrAgain says that the steps in flight are of no use: Pick must run the rows after the timelines again.
var ErrAgain = errors.New("the steps that the device made by itself have to be run again")

// Next waits for the earliest step whose tokens it has not returned, and returns one token for each row;
// negative if none is possible. The tokens that the step has run are then part of the timelines, unless it
// returns ErrAgain.
func (a *Ahead) Next() ([]int32, error) {
	if a.model.ahead != a {
		return nil, errOther
	}
	picked, err := a.device.Next()
	if a.model.reopens(err) {
		if err := a.model.reopen(err); err != nil {
			return nil, err
		}
		return nil, ErrAgain
	}
	if err != nil {
		return nil, a.model.fail(err)
	}
	if a.model.narrow() && slices.ContainsFunc(picked, func(t int32) bool { return t < 0 }) {
		a.model.turn()
		return nil, ErrAgain
	}
	for i, s := range a.sessions {
		if s.closed {
			continue
		}
		if err := s.add(a.picked[i]); err != nil {
			return nil, err
		}
		a.samplers[i].Skip()
	}
	a.picked = picked
	a.inFlight--
	return picked, a.copies()
}

// copies copies the states of sessions that are at the end of a page, if no step is in flight.
func (a *Ahead) copies() error {
	for _, s := range a.sessions {
		if !s.keepsStates() || a.inFlight > 0 {
			continue
		}
		if err := s.saveState(); err != nil {
			return err
		}
	}
	return nil
}

// looped is a source of tokens that the device picks and runs by itself, as long as the choice depends only
// on logits and draws. Before the first token of a unit of work is taken, the next unit is submitted, so that
// the device never waits for the host. Tokens in flight at the end of the text are dropped: the timeline has
// only tokens that were taken.
type looped struct {
	*Session
	sampler Sampler
	unit    int    // steps per unit of work
	left    int    // tokens that may still be picked
	token   int32  // picked, but not yet on the timeline
	ahead   *Ahead // nil: each token is run when the caller asks for it
}

// loop returns a source of a request's tokens after the timeline, whose logits must be known. It is nil if
// the sampler has to pick all tokens on the host.
func (s *Session) loop(req Request) (*looped, error) {
	_, picks := s.model.runner.(device.Picker)
	sampler, portable := req.Sampler.(Portable)
	if !picks || !portable || req.Ahead < 1 || req.Max == 0 {
		return nil, nil
	}
	if s.logits == nil {
		return nil, errOther
	}
	l := s.looped(sampler, req.Ahead, req.Max)
	l.token = sampler.Next(s.logits)
	l.left--
	return l, nil
}

// looped returns a source of at most most tokens (negative: no limit). The first token comes from its run.
func (s *Session) looped(sampler Sampler, unit, most int) *looped {
	if most < 0 {
		most = s.model.context + 1
	}
	return &looped{Session: s, sampler: sampler, unit: min(unit, device.MaxAhead/2), left: most}
}

func (l *looped) next() (int32, error) { return l.token, nil }

func (l *looped) length() int { return len(l.tokens) }

// run appends the token to the timeline, and picks the next one.
func (l *looped) run(token int32) error {
	if err := l.ask(); err != nil {
		return err
	}
	if l.more() {
		picked, err := l.ahead.Next()
		switch {
		case err == nil:
			l.token = picked[0]
			return nil
		case !errors.Is(err, ErrAgain):
			return err
		}
		l.left, l.ahead = l.left+l.ahead.InFlight(), nil
	}
	rows := []Row{{Session: l.Session, Token: token, Sampler: l.sampler}}
	picked, err := l.model.Pick(rows)
	if err != nil {
		return err
	}
	l.token, l.ahead = picked[0][0], l.model.Ahead(rows, picked)
	l.left--
	return l.ask()
}

// more says whether the next token is in flight.
func (l *looped) more() bool { return l.ahead != nil && l.ahead.InFlight() > 0 }

// ask keeps units of work in flight while there are pages for them. If something else has run on the model,
// the steps in flight are lost, and the token is run again.
func (l *looped) ask() error {
	if l.ahead != nil && l.model.ahead != l.ahead {
		l.left += l.ahead.InFlight()
		l.ahead = nil
	}
	for l.ahead != nil && l.ahead.InFlight() <= l.unit {
		n := min(l.unit, l.left, l.ahead.Capacity())
		if n < 1 {
			break
		}
		asked, err := l.ahead.Ask(n)
		if errors.As(err, new(*OutOfPages)) || err == nil && asked == 0 {
			break // the row that has no page will report the error, if it is ever run
		}
		if err != nil {
			return err
		}
		l.left -= asked
	}
	return nil
}
