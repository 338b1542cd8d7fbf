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
	device.Chain
	layout    plan.SampleLayout
	begin     *cu.Pinned // what a chain begins with: the sampler's memory up to layout.Values
	hostPicks *cu.Pinned // [ring][SamplePicks]uint32: the picks after each unit
	copies    cu.Stream  // brings them there, beside the units that follow
	picks     [plan.SamplePicks]uint32
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
	if c.hostPicks, err = cu.AllocPinned(ring * picksBytes); err != nil {
		return err
	}
	c.copies, err = cu.NewStream()
	return err
}

func (c *chain) free() error {
	return errors.Join(c.copies.Destroy(), c.begin.Free(), c.hostPicks.Free())
}

// fetch copies the picks from device memory when the unit in a slot has ended. The
// units behind it go on meanwhile: they write to other places, for no more than
// device.MaxAhead tokens wait for Next.
func (c *chain) fetch(t *slot, i int, from cu.Ptr) error {
	if err := c.copies.After(t.end); err != nil {
		return err
	}
	if err := c.copies.Download(c.hostPicks, i*picksBytes, from, picksBytes); err != nil {
		return err
	}
	return t.copied.Record(c.copies)
}

// keep takes the picks of a unit that is done.
func (c *chain) keep(slot, picks int) {
	first := c.Picked(picks)
	for i := range picks {
		place := (first + i) % plan.SamplePicks
		c.picks[place] = binary.LittleEndian.Uint32(c.hostPicks.Bytes()[slot*picksBytes+4*place:])
	}
}

// Begin implements device.Sampler.
func (r *runner) Begin(s *device.Sampling) error {
	switch {
	case r.closed:
		return errors.New("the runner is closed")
	case r.units.Failed() != nil:
		return r.units.Failed()
	}
	return r.chain.Begin(r.last, func() error {
		if err := s.Write(r.chain.begin.Bytes(), r.vocab); err != nil {
			return err
		}
		if err := r.gpu.Do(r.uploadSampling); err != nil {
			return err
		}
		r.forget()
		return nil
	})
}

// uploadSampling brings what a chain begins with to the device: the sampler's state, and in the place of
// the one row that tokens run in, that whose logits the last Replay computed.
func (r *runner) uploadSampling() error {
	return r.unit(0, func(slot int) error {
		if err := r.setRows(slot, []plan.Row{*r.last}, nil, 1); err != nil {
			return err
		}
		return r.stream.Upload(r.memory.Spaces[plan.SpaceSample], r.chain.begin, 0, len(r.chain.begin.Bytes()))
	})
}

// Ahead implements device.Sampler.
func (r *runner) Ahead(n int) error {
	return r.chain.Ahead(n, func(first bool) error {
		return r.gpu.Do(func() error {
			return r.unit(n, func(int) error { return r.launchPicks(n, first) })
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
	return r.chain.Next(func() error { return r.gpu.Do(r.waitPicked) }, func(place int) uint32 { return r.chain.picks[place] })
}

// waitPicked waits for units until there is a token to fetch.
func (r *runner) waitPicked() error { return r.chain.Wait(&r.units) }

// End implements device.Sampler.
func (r *runner) End() error {
	return r.chain.End(func() error { return r.gpu.Do(r.units.Drain) })
}
