package engine

import (
	"errors"
	"slices"

	"mla/runtime/device"
	"mla/runtime/plan"
)

// Ahead are steps of some sessions that a device makes by itself: it picks tokens and runs
// them while the host is at those before. Once something else runs on the model, what is
// under way is forgotten. Of a session that is closed meanwhile it is forgotten, too.
type Ahead struct {
	model    *Model
	device   device.Picker
	sessions []*Session
	samplers []Portable
	picked   []int32 // last: the next step runs them
	inFlight int     // steps whose tokens are yet to be taken
}

// Ahead goes on behind the last Pick, which was of these rows and picked these tokens; it is
// nil if the device cannot: it has not picked all of them in one replay, or how it picks
// depends on the tokens themselves.
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

// InFlight is how many steps the device has been asked for whose tokens Next has not
// returned.
func (a *Ahead) InFlight() int { return a.inFlight }

// Room is how many more steps can be asked for: for so many no context ends, and the device
// keeps their tokens. 0: something else has run on the model.
func (a *Ahead) Room() int {
	if a.model.ahead != a {
		return 0
	}
	room := device.MaxAhead - a.inFlight
	for _, s := range a.sessions {
		room = min(room, a.model.context-len(s.tokens)-a.inFlight)
	}
	return room
}

// Ask hands the device n more steps as one unit of work, or as many as there are pages for, and
// as come before a state is to be copied, and says how many. All sessions must be open, and n must be at most Room. With
// *OutOfPages nothing has been done.
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

// beforeCopy is how many more steps can be asked for before the state of a session is to be copied. Steps that are
// under way when the text has ended have folded tokens that are none of it: who goes on begins with a copy.
func (a *Ahead) beforeCopy() int {
	n := device.MaxAhead
	for _, s := range a.sessions {
		if s.keepsStates() {
			n = min(n, plan.PageRows-len(s.tokens)%plan.PageRows-a.inFlight)
		}
	}
	return n
}

// reserve gives each session pages for so many tokens more than it has.
func (a *Ahead) reserve(n int) error {
	for _, s := range a.sessions {
		if err := s.Reserve(n); err != nil {
			return err
		}
	}
	return nil
}

// ErrAgain says that the steps under way are of no use: the rows behind the timelines have to be
// run again, by Pick.
var ErrAgain = errors.New("the steps that the device made by itself have to be run again")

// Next waits for the first step whose tokens it has not returned, and returns those, a token
// of each row: negative if none is possible. What the step ran is the timelines' then. With
// ErrAgain it is not.
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

// copies copies the states of sessions that are behind the end of a page, where nothing is under way.
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

// looped is a source of tokens that the device picks where it can, and runs by itself, a unit
// of several after the other, where nothing but logits and draws decides. Before a unit's
// first token is taken, the unit behind it is on its way, so that the device never waits for
// the host. What is under way when the text ends is forgotten: the timeline holds only what
// was taken.
type looped struct {
	*Session
	sampler Sampler
	unit    int    // tokens
	left    int    // tokens that may still be picked
	token   int32  // picked behind the timeline
	ahead   *Ahead // nil: each token is run when it is asked for
}

// loop begins a source of a request's tokens behind the timeline, whose logits there are; it
// is nil if the sampler has to pick all of them.
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

// looped is a source of at most so many tokens, or any number if that is negative, which begins
// with its run.
func (s *Session) looped(sampler Sampler, unit, most int) *looped {
	if most < 0 {
		most = s.model.context + 1
	}
	return &looped{Session: s, sampler: sampler, unit: min(unit, device.MaxAhead/2), left: most}
}

func (l *looped) next() (int32, error) { return l.token, nil }

func (l *looped) length() int { return len(l.tokens) }

// run adds the token to the timeline, and picks the one behind it.
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

// more says whether the next token is on its way.
func (l *looped) more() bool { return l.ahead != nil && l.ahead.InFlight() > 0 }

// ask keeps units on their way as long as there are pages for them. Where something else has
// run on the model, what was under way is lost: the token is run anew.
func (l *looped) ask() error {
	if l.ahead != nil && l.model.ahead != l.ahead {
		l.left += l.ahead.InFlight()
		l.ahead = nil
	}
	for l.ahead != nil && l.ahead.InFlight() <= l.unit {
		n := min(l.unit, l.left, l.ahead.Room())
		if n < 1 {
			break
		}
		asked, err := l.ahead.Ask(n)
		if errors.As(err, new(*OutOfPages)) || err == nil && asked == 0 {
			break // the row that has no page says so, if it comes to that
		}
		if err != nil {
			return err
		}
		l.left -= asked
	}
	return nil
}
