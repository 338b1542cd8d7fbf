package engine

import (
	"errors"
	"fmt"

	"mla/runtime/device"
)

// chain is a source of tokens that the device picks and runs by itself, a unit of
// several after the other. Before a unit's first token is fetched, the unit behind
// it is on its way, so that the device never waits for the host. What is in flight
// when the text ends is forgotten: the timeline holds only what was fetched.
type chain struct {
	session *Session
	device  device.Sampler
	sampler Portable
	unit    int // tokens
	left    int // tokens that may still be asked for
	flying  int // tokens asked for and not yet fetched
}

// chain begins a chain for a request; it is nil if the host has to pick.
func (s *Session) chain(req Request) (*chain, error) {
	d, ok := s.runner.(device.Sampler)
	sampler, portable := req.Sampler.(Portable)
	if !ok || !portable || req.Ahead < 1 || req.Max == 0 {
		return nil, nil
	}
	err := d.Begin(sampler.Sampling())
	if errors.Is(err, device.ErrSampling) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	left := s.context - len(s.tokens) + 1
	if req.Max > 0 {
		left = min(left, req.Max)
	}
	return &chain{session: s, device: d, sampler: sampler, unit: min(req.Ahead, device.MaxAhead/2), left: left}, nil
}

func (c *chain) next() (int32, error) {
	for c.left > 0 && c.flying <= c.unit {
		n := min(c.unit, c.left)
		if err := c.device.Ahead(n); err != nil {
			return 0, c.failed(err)
		}
		c.left -= n
		c.flying += n
	}
	token, err := c.device.Next()
	if err != nil {
		return 0, c.failed(err)
	}
	c.flying--
	c.sampler.Skip()
	return token, nil
}

// run adds a token that the device runs, or has run, to the timeline.
func (c *chain) run(token int32) error {
	c.session.tokens = append(c.session.tokens, token)
	return nil
}

// failed is an error of the device with the position that it concerns.
func (c *chain) failed(err error) error {
	return fmt.Errorf("behind position %d: %w", len(c.session.tokens)-1, err)
}

// end forgets what is in flight. Whatever the logits are now, they are not those
// behind the timeline.
func (c *chain) end() error {
	c.session.logits = nil
	return c.device.End()
}
