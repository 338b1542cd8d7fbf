package cuda

import (
	"encoding/binary"
	"errors"
	"fmt"

	"mla/runtime/device"
	"mla/runtime/device/cuda/cu"
	"mla/runtime/plan"
)

// chain is a chain of tokens that the GPU picks and runs, see device.Sampler. The
// sampler's last kernel moves the step on, so nothing comes from the host between
// two tokens, and several of them are one graph.
type chain struct {
	layout  plan.SampleLayout
	begin   *cu.Pinned // what a chain begins with: the sampler's memory up to layout.Values
	landing *cu.Pinned // [ring][SamplePicks]uint32: the picks after each unit
	copies  cu.Stream  // brings them there, beside the units that follow

	active  bool
	after   uint32 // position of the last Replay
	asked   int    // tokens asked of the GPU
	picked  int    // of those, known to be picked
	fetched int    // of those, returned by Next
	ended   bool   // none could be picked
	picks   [plan.SamplePicks]uint32
}

// picksBytes is the size of the picks that the device keeps.
const picksBytes = 4 * plan.SamplePicks

// allocate reserves what chains need; a bundle without a sampler needs nothing.
func (c *chain) allocate(vocab int, bytes int64) (err error) {
	if bytes == 0 {
		return nil
	}
	c.layout = plan.SampleLayoutOf(vocab, 1)
	if bytes < c.layout.Values {
		return fmt.Errorf("a sampler's memory of %d bytes; expected at least %d", bytes, c.layout.Values)
	}
	if c.begin, err = cu.AllocPinned(int(c.layout.Values)); err != nil {
		return err
	}
	if c.landing, err = cu.AllocPinned(ring * picksBytes); err != nil {
		return err
	}
	c.copies, err = cu.NewStream()
	return err
}

func (c *chain) free() error {
	return errors.Join(c.copies.Destroy(), c.begin.Free(), c.landing.Free())
}

// fetch copies the picks from device memory when the unit in a slot has ended. The
// units behind it go on meanwhile: they write to other places, for no more than
// device.MaxAhead tokens wait for Next.
func (c *chain) fetch(t *slot, i int, from cu.Ptr) error {
	if err := c.copies.After(t.end); err != nil {
		return err
	}
	if err := c.copies.Download(c.landing, i*picksBytes, from, picksBytes); err != nil {
		return err
	}
	return t.landed.Record(c.copies)
}

// keep takes the picks of a unit that has landed in a slot.
func (c *chain) keep(slot, picks int) {
	for range picks {
		at := c.picked % plan.SamplePicks
		c.picks[at] = binary.LittleEndian.Uint32(c.landing.Bytes()[slot*picksBytes+4*at:])
		c.picked++
	}
}

// Begin implements device.Sampler.
func (r *runner) Begin(s *device.Sampling) error {
	switch {
	case r.closed:
		return errors.New("the runner is closed")
	case r.failed != nil:
		return r.failed
	case r.graphs.pick == nil || r.memory.sample == 0:
		return fmt.Errorf("%w: the bundle has no kernels for it", device.ErrSampling)
	case r.last == nil:
		return errors.New("a chain begins behind a replay with logits")
	}
	if err := s.Write(r.chain.begin.Bytes(), r.vocab); err != nil {
		return err
	}
	err := r.gpu.Do(func() error {
		// The step on the device still is that of the last Replay.
		return r.unit(0, func(int) error {
			return r.stream.Upload(r.memory.sample, r.chain.begin, 0, len(r.chain.begin.Bytes()))
		})
	})
	if err != nil {
		return err
	}
	r.chain.active, r.chain.after = true, r.last.Pos
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
	return r.gpu.Do(func() error {
		return r.unit(n, func(int) error {
			first := c.asked == 0
			c.asked += n
			return r.launchPicks(n, first)
		})
	})
}

// launchPicks launches what picks n more tokens, in as few graphs as there are. Of a
// chain's first token nothing is left to run.
func (r *runner) launchPicks(n int, first bool) error {
	if first {
		if err := r.graphs.pick.Launch(r.stream); err != nil {
			return err
		}
		n--
	}
	for i, length := range lengths {
		for ; n >= length; n -= length {
			if err := r.graphs.runs[i].Launch(r.stream); err != nil {
				return err
			}
		}
	}
	return nil
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
	if err := r.gpu.Do(r.landPicked); err != nil {
		return 0, err
	}
	token := c.picks[c.fetched%plan.SamplePicks]
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

// landPicked waits for units, oldest first, until there is a token to fetch.
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
	c := &r.chain
	if r.closed || !c.active {
		return nil
	}
	err := r.gpu.Do(r.drain)
	*c = chain{layout: c.layout, begin: c.begin, landing: c.landing, copies: c.copies}
	return err
}
