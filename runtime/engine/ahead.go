package engine

// Ahead is a text that a device goes on with by itself: it picks tokens and runs them while the
// host is at those before. Until End nothing else may run on the model.
type Ahead struct{ chain *chain }

// RunAhead runs a token at the end of the timeline and returns the one that is picked behind it.
// The device goes on from there, unit tokens at a time and most at the most; a is nil if it
// cannot, and then the sampler has picked.
func (s *Session) RunAhead(token int32, sampler Portable, unit, most int) (a *Ahead, picked int32, err error) {
	c, behind, err := s.runChain(token, sampler, unit, most)
	switch {
	case err != nil:
		return nil, 0, err
	case c == nil:
		return nil, behind.next(sampler), nil
	}
	a = &Ahead{c}
	picked, err = c.next()
	return a, picked, err
}

// runChain runs a token at the end of the timeline, and begins a chain behind it; c is nil if the device cannot.
func (s *Session) runChain(token int32, sampler Sampler, unit, most int) (c *chain, behind outcome, err error) {
	out, err := s.model.replay([]Row{{Session: s, Token: token, Logits: true}}, nil)
	if err != nil {
		return nil, outcome{}, err
	}
	c, err = s.chain(Request{Sampler: sampler, Ahead: unit, Max: most})
	return c, out[0], s.model.fail(err)
}

// Next returns the token behind the one that it returned last, which is the timeline's from then
// on. With *OutOfPages it has done nothing.
func (a *Ahead) Next(token int32) (int32, error) {
	if err := a.chain.run(token); err != nil {
		return 0, err
	}
	return a.chain.next()
}

// End forgets what the device has run and picked since.
func (a *Ahead) End() error { return a.chain.end() }
