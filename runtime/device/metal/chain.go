package metal

import (
	"encoding/binary"
	"errors"
	"fmt"

	"mla/runtime/device"
	"mla/runtime/device/metal/mtl"
	"mla/runtime/plan"
)

// chain is a chain of tokens that the GPU picks and runs, see device.Sampler. All
// of it uses one step, which the GPU moves on from token to token: no host writes
// it while the chain is in flight.
type chain struct {
	active  bool
	slot    int    // of the step
	after   uint32 // position of the last Replay
	asked   int    // tokens asked of the GPU
	picked  int    // of those, known to be picked
	fetched int    // of those, returned by Next
	ended   bool   // none could be picked
}

// Begin implements device.Sampler.
func (r *runner) Begin(s *device.Sampling) error {
	switch {
	case r.closed:
		return errors.New("the runner is closed")
	case r.failed != nil:
		return r.failed
	case r.memory.sample.Nil() || r.decode == len(r.commands):
		return fmt.Errorf("%w: the bundle has no kernels for it", device.ErrSampling)
	case r.last == nil:
		return errors.New("a chain begins behind a replay with logits")
	}
	if err := s.Write(r.memory.sample.Bytes(), r.vocab); err != nil {
		return err
	}
	r.chain = chain{active: true, slot: r.next, after: r.last.Pos}
	r.setStep(r.next, *r.last)
	r.last = nil
	return nil
}

// Ahead implements device.Sampler.
func (r *runner) Ahead(n int) error {
	c := &r.chain
	switch {
	case r.closed || !c.active:
		return errors.New("no chain has begun")
	case n < 1 || c.asked-c.fetched > device.MaxAhead-n:
		return fmt.Errorf("%d more tokens ahead of %d; expected at most %d together", n, c.asked-c.fetched, device.MaxAhead)
	case uint64(c.after)+uint64(c.asked)+uint64(n) > uint64(r.context):
		return fmt.Errorf("%d tokens behind position %d do not fit a context of %d tokens", c.asked+n, c.after, r.context)
	}
	return mtl.Pool(func() error {
		if err := r.land(r.next); err != nil {
			return err
		}
		var runs []run
		for i := range n {
			if c.asked+i == 0 {
				runs = append(runs, run{r.decode, len(r.commands)})
			} else {
				runs = append(runs, run{0, len(r.commands)})
			}
		}
		c.asked += n
		return r.commit(c.slot, runs, n)
	})
}

// Next implements device.Sampler.
func (r *runner) Next() (int32, error) {
	c := &r.chain
	switch {
	case r.closed || !c.active || c.fetched == c.asked:
		return 0, errors.New("no token has been asked for")
	case c.ended:
		return -1, nil
	}
	if err := mtl.Pool(r.landPicked); err != nil {
		return 0, err
	}
	picks := plan.SampleLayoutOf(r.vocab, 1).Picks
	at := picks + 4*int64(c.fetched%plan.SamplePicks)
	token := binary.LittleEndian.Uint32(r.memory.sample.Bytes()[at:])
	c.fetched++
	if token == plan.SampleNone {
		c.ended = true
		return -1, nil
	}
	if uint64(token) >= uint64(r.vocab) {
		return 0, fmt.Errorf("the GPU picked token %d of a vocabulary of %d", token, r.vocab)
	}
	return int32(token), nil
}

// landPicked waits for units until there is a token to fetch.
func (r *runner) landPicked() error {
	for i := range ring {
		if r.chain.picked > r.chain.fetched {
			break
		}
		if err := r.land((r.next + i) % ring); err != nil {
			return err
		}
	}
	return r.failed
}

// End implements device.Sampler.
func (r *runner) End() error {
	if r.closed || !r.chain.active {
		return nil
	}
	err := mtl.Pool(r.drain)
	r.chain = chain{}
	return err
}
