package metal

import (
	"encoding/binary"
	"errors"
	"slices"

	"mla/runtime/device"
	"mla/runtime/device/metal/mtl"
	"mla/runtime/plan"
)

// chain is a chain of tokens that the GPU picks and runs, see device.Sampler. All
// of it uses one row, which the GPU moves on from token to token: no host writes
// it while the chain is in flight.
type chain struct {
	device.Chain
	slot int // of the row
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
		if err := s.Write(r.memory.Spaces[plan.SpaceSample].Bytes(), r.vocab); err != nil {
			return err
		}
		r.chain.slot = r.units.Next()
		r.writeRows(r.units.Next(), []plan.Row{*r.last}, nil)
		r.forget()
		return nil
	})
}

// Ahead implements device.Sampler.
func (r *runner) Ahead(n int) error {
	return r.chain.Ahead(n, func(first bool) error {
		return mtl.Pool(func() error { return r.commitPicks(n, first) })
	})
}

// commitPicks commits what picks n more tokens, as one unit. Of a chain's first token
// nothing is left to run.
func (r *runner) commitPicks(n int, first bool) error {
	if _, err := r.units.Slot(); err != nil {
		return err
	}
	runs := slices.Repeat([]run{{0, r.sampled}}, n)
	if first {
		runs[0].from = r.decode
	}
	return r.commit(r.chain.slot, runs, n, nil, 1)
}

// Next implements device.Sampler.
func (r *runner) Next() (int32, error) {
	return r.chain.Next(func() error { return mtl.Pool(r.waitPicked) }, r.pick)
}

// waitPicked waits for units until there is a token to fetch.
func (r *runner) waitPicked() error { return r.chain.Wait(&r.units) }

// pick is what the GPU left in a place of the picks.
func (r *runner) pick(place int) uint32 {
	picks := r.memory.Spaces[plan.SpaceSample].Bytes()[plan.SampleLayoutOf(r.vocab, 1).Picks:]
	return binary.LittleEndian.Uint32(picks[4*place:])
}

// End implements device.Sampler.
func (r *runner) End() error {
	return r.chain.End(func() error { return mtl.Pool(r.units.Drain) })
}
