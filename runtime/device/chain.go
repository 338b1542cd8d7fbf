package device

import (
	"errors"
	"fmt"

	"mla/runtime/plan"
)

// Chain keeps count of a Sampler's chain: of the tokens that were asked for, of those
// known to be picked, and of those that Next has returned. It calls the device where
// Sampler's methods need it. The zero value is for a runner without kernels that pick.
type Chain struct {
	vocab, context int
	tables         *Tables

	active  bool
	after   plan.Row // of the last Replay
	asked   int      // tokens asked of the device
	picked  int      // of those, known to be picked
	fetched int      // of those, returned by Next
	ended   bool     // none could be picked
}

// NewChain is the Chain of a runner that picks tokens, with a vocabulary and a context
// of that many; none has begun.
func NewChain(vocab, context int, tables *Tables) Chain {
	return Chain{vocab: vocab, context: context, tables: tables}
}

// Begin does what Sampler.Begin says, behind the step of the last Replay; last is nil
// if that computed no logits. start brings the parameters to the device; if it fails,
// no chain has begun.
func (c *Chain) Begin(last *plan.Row, start func() error) error {
	switch {
	case c.vocab == 0:
		return fmt.Errorf("%w: the bundle has no kernels for it", ErrSampling)
	case last == nil:
		return errors.New("a chain begins behind a replay with logits")
	}
	if err := start(); err != nil {
		return err
	}
	*c = NewChain(c.vocab, c.context, c.tables)
	c.active, c.after = true, *last
	return nil
}

// Ahead does what Sampler.Ahead says. submit hands the device the n tokens, the first
// of which may be the chain's first: of that nothing is left to run. If it fails, they
// count as not asked for.
func (c *Chain) Ahead(n int, submit func(first bool) error) error {
	switch {
	case !c.active:
		return errors.New("no chain has begun")
	case n < 1 || c.asked-c.fetched > MaxAhead-n:
		return fmt.Errorf("%d more tokens ahead of %d; expected at most %d together", n, c.asked-c.fetched, MaxAhead)
	case uint64(c.after.Pos)+uint64(c.asked)+uint64(n) > uint64(c.context):
		return fmt.Errorf("%d tokens behind position %d do not fit a context of %d tokens", c.asked+n, c.after.Pos, c.context)
	}
	last := c.after // the last token that is run: the one after it is only picked
	last.Pos += uint32(c.asked + n - 1)
	if err := c.tables.Check(last); err != nil {
		return err
	}
	if err := submit(c.asked == 0); err != nil {
		return err
	}
	c.asked += n
	return nil
}

// Picked counts n more tokens as picked, and returns the place of the first in
// SampleLayout.Picks, a ring.
func (c *Chain) Picked(n int) (first int) {
	first = c.picked % plan.SamplePicks
	c.picked += n
	return first
}

// Wait waits for units of a queue until Next has a token to return. Whoever waits for one has Picked count
// what it picked.
func (c *Chain) Wait(q *Queue) error {
	return q.Oldest(func() bool { return c.picked > c.fetched })
}

// Next does what Sampler.Next says. wait waits for the token, see Wait; pick returns
// what the device left in a place of SampleLayout.Picks.
func (c *Chain) Next(wait func() error, pick func(place int) uint32) (int32, error) {
	switch {
	case !c.active || c.fetched == c.asked:
		return 0, errors.New("no token has been asked for")
	case c.ended:
		return -1, nil
	}
	if err := wait(); err != nil {
		return 0, err
	}
	token := pick(c.fetched % plan.SamplePicks)
	c.fetched++
	if token == plan.SampleNone {
		c.ended = true
		return -1, nil
	}
	if uint64(token) >= uint64(c.vocab) {
		return 0, fmt.Errorf("the GPU picked token %d of a vocabulary of %d", token, c.vocab)
	}
	return int32(token), nil
}

// End does what Sampler.End says, if a chain has begun. drain waits for what is in
// flight; the chain ends also if it fails.
func (c *Chain) End(drain func() error) error {
	if !c.active {
		return nil
	}
	c.active = false
	return drain()
}
