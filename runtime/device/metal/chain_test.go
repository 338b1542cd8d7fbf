package metal_test

import (
	"errors"
	"fmt"

	"mla/runtime/device"
	"mla/runtime/device/metal"
	"mla/runtime/device/reference"
	"mla/runtime/sample"
)

// chains picks tokens as the host does, also in more units than fit.
func chains(replay metal.Replay) func(string) error {
	return func(lib string) error {
		return with(lib, tiny, device.Config{Context: reference.ChainContext, KV: tinyConfig.KV}, metal.Options{Replay: replay}, func(r device.Runner) error {
			return reference.Chains(r, crowded)
		})
	}
}

// crowded asks for more units than can be in flight before it fetches a token.
func crowded(r device.Sampler, p sample.Params, want []int32) error {
	if err := reference.BeginChain(r, p); err != nil {
		return err
	}
	for i := range 2 * metal.Ring {
		if err := r.Ahead(1); err != nil {
			return err
		}
		if n := metal.InFlight(r); n != min(i+1, metal.Ring) {
			return fmt.Errorf("%d units are in flight; expected %d", n, min(i+1, metal.Ring))
		}
	}
	for i := range 2 * metal.Ring {
		token, err := r.Next()
		if err != nil {
			return err
		}
		if token != want[i] {
			return fmt.Errorf("more units than fit: token %d is %d; expected %d", i, token, want[i])
		}
	}
	return r.End()
}

func misuse(lib string) error {
	return with(lib, tiny, device.Config{Context: reference.MisuseContext, KV: tinyConfig.KV}, metal.Options{}, reference.Misuse)
}

// lostChain loses a unit with two more in flight, and wants its error from all
// that follows.
func lostChain(lib string) error {
	return with(lib, tiny, tinyConfig, metal.Options{}, func(r device.Runner) error {
		d := r.(device.Sampler)
		if err := errors.Join(reference.BeginChain(d, sample.Off()), d.Ahead(2), d.Ahead(2), d.Ahead(2)); err != nil {
			return err
		}
		_, first := d.Next()
		_, next := d.Next()
		if first == nil || next == nil || d.End() == nil || d.Begin(&device.Sampling{}) == nil {
			return nil // which the test takes for a missing error
		}
		return first
	})
}

// noSampler has a runner whose sampler could not be made: it only cannot pick.
func noSampler(lib string) error {
	return with(lib, tiny, tinyConfig, metal.Options{}, func(r device.Runner) error {
		if err := reference.BeginChain(r.(device.Sampler), sample.Off()); !errors.Is(err, device.ErrSampling) {
			return fmt.Errorf("a chain without a sampler: %w", err)
		}
		_, err := r.Replay(reference.Rows(1, 3), true)
		return err
	})
}
