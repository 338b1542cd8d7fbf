package engine

import (
	"slices"

	"mla/runtime/device"
	"mla/runtime/plan"
)

// StepsAhead are steps of several sessions that a device makes by itself: it picks tokens and
// runs them while the host is at those before. Nothing else may run on the model while one is
// under way. Of a session that is closed meanwhile what is under way is forgotten.
type StepsAhead struct {
	model    *Model
	device   device.Picker
	sessions []*Session
	samplers []Portable
	picked   []int32 // last: the next step runs them
	inFlight int     // steps whose tokens are yet to be taken
}

// StepsAhead goes on behind the last Pick, which was of these rows and picked these tokens; it
// is nil if the device cannot: it has not picked all of them in one replay, or how it has
// depends on the tokens themselves.
func (m *Model) StepsAhead(rows []Row, picked [][]int32) *StepsAhead {
	d, ok := m.runner.(device.Picker)
	if !ok || !slices.EqualFunc(rows, m.pickers, func(r Row, s *Session) bool { return r.Session == s && len(r.Guesses) == 0 }) {
		return nil
	}
	a := &StepsAhead{model: m, device: d}
	for i, r := range rows {
		p, ok := r.Sampler.(Portable)
		if !ok || slices.Contains(a.sessions, r.Session) {
			return nil
		}
		if state := p.Sampling(); state == nil || state.Mask != nil || state.Window > 0 {
			return nil
		}
		a.sessions, a.samplers, a.picked = append(a.sessions, r.Session), append(a.samplers, p), append(a.picked, picked[i][0])
	}
	return a
}

// InFlight is for how many steps the device has been asked whose tokens Next has not returned.
func (a *StepsAhead) InFlight() int { return a.inFlight }

// Most is how many steps can be under way.
func (a *StepsAhead) Most() int { return plan.PickTurns }

// Ask hands the device one more step. All sessions must be open and have room in their
// context; with *OutOfPages nothing has been done.
func (a *StepsAhead) Ask() error {
	for _, s := range a.sessions {
		if err := s.Reserve(a.inFlight + 1); err != nil {
			return err
		}
	}
	if err := a.device.PickAhead(); err != nil {
		return a.model.fail(err)
	}
	a.model.turn()
	a.inFlight++
	return nil
}

// Next waits for the first step whose tokens it has not returned, and returns those, a token
// of each row: negative if none is possible. What the step ran is the timelines' then.
func (a *StepsAhead) Next() ([]int32, error) {
	picked, err := a.device.PickedAhead()
	if err != nil {
		return nil, a.model.fail(err)
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
	return picked, nil
}
