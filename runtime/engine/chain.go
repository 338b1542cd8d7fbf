package engine

import (
	"errors"
	"fmt"

	"mla/runtime/device"
)

// chain is a source of tokens that the device picks and runs by itself, a unit of
// several after the other. Before a unit's first token is fetched, the unit behind
// it is on its way, so that the device never waits for the host. What is in flight
// when the text ends is forgotten: the timeline holds only what was fetched. A model
// has one chain at a time; a row of another session ends it.
type chain struct {
	session  *Session
	device   device.Sampler
	sampler  Portable
	unit     int // tokens
	left     int // tokens that may still be asked for
	inFlight int // tokens asked for and not yet fetched
	full     *OutOfPages
}

// chain begins a chain for a request; it is nil if the host has to pick.
func (s *Session) chain(req Request) (*chain, error) {
	d, ok := s.model.runner.(device.Sampler)
	sampler, portable := req.Sampler.(Portable)
	if !ok || !portable || req.Ahead < 1 || req.Max == 0 {
		return nil, nil
	}
	state := sampler.Sampling()
	if state == nil {
		return nil, nil
	}
	err := d.Begin(state)
	if errors.Is(err, device.ErrSampling) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	left := s.model.context - len(s.tokens) + 1
	if req.Max > 0 {
		left = min(left, req.Max)
	}
	c := &chain{session: s, device: d, sampler: sampler, unit: min(req.Ahead, device.MaxAhead/2), left: left}
	s.model.chain = c
	return c, nil
}

func (c *chain) next() (int32, error) {
	if c.session.model.chain != c {
		return 0, errOther
	}
	for c.left > 0 && c.inFlight <= c.unit && c.full == nil {
		if err := c.ask(min(c.unit, c.left)); err != nil {
			return 0, c.failed(err)
		}
	}
	token, err := c.device.Next()
	if err != nil {
		return 0, c.failed(c.session.model.fail(err))
	}
	c.inFlight--
	c.sampler.Skip()
	return token, nil
}

// ask hands the device n more tokens, or as many as there are pages for. To pick a
// token runs the one before it: of those in flight and of n more, all but the last.
func (c *chain) ask(n int) error {
	for ; n > 0; n-- {
		err := c.session.Reserve(c.inFlight + n - 1)
		if errors.As(err, &c.full) {
			continue
		}
		if err == nil {
			err = c.session.model.fail(c.device.Ahead(n))
		}
		c.left -= n
		c.inFlight += n
		return err
	}
	return nil
}

// more says whether the row of the token that was picked last is asked for.
func (c *chain) more() bool { return c.left > 0 || c.inFlight > 0 }

// run adds a token that the device runs, or has run, to the timeline.
func (c *chain) run(token int32) error {
	if c.inFlight == 0 && c.full != nil {
		return c.full // the token's row was not asked for
	}
	return c.session.add(token)
}

func (c *chain) length() int { return len(c.session.tokens) }

// failed is an error of the device with the position that it concerns.
func (c *chain) failed(err error) error {
	return fmt.Errorf("behind position %d: %w", len(c.session.tokens)-1, err)
}

// end forgets what is in flight. Whatever the logits are now, they are not those
// behind the timeline.
func (c *chain) end() error {
	c.session.logits = nil
	if m := c.session.model; m.chain != c {
		return nil // it has ended
	}
	c.session.model.chain = nil
	return c.session.model.fail(c.device.End())
}
