package metal_test

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"mla/runtime/device"
	"mla/runtime/device/metal"
	"mla/runtime/doctor/reference"
	"mla/runtime/text/sample"
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

// noSampler has a runner whose samplers could not be made: it only cannot pick.
func noSampler(lib string) error {
	wide := tinyConfig
	wide.Width = 16
	return with(lib, tiny, wide, metal.Options{}, func(r device.Runner) error {
		if err := reference.BeginChain(r.(device.Sampler), sample.Off()); !errors.Is(err, device.ErrSampling) {
			return fmt.Errorf("a chain without a sampler: %w", err)
		}
		rows := append(reference.Rows(1, 3), reference.Rows(7, 4)...)
		if _, err := r.(device.Picker).Pick(rows, []device.Pick{{Row: 1}}); !errors.Is(err, device.ErrSampling) {
			return fmt.Errorf("picks without a sampler: %w", err)
		}
		alone, err := r.Replay(rows[:1], device.All(1))
		alone = slices.Clone(alone)
		if err != nil {
			return err
		}
		logits, err := r.Replay(rows, device.All(len(rows)))
		if err != nil {
			return err
		}
		for i, v := range alone { // rows together are products of matrices, which add up in another order
			if off := math.Abs(float64(logits[i] - v)); !(off <= 1e-4) {
				return fmt.Errorf("two rows without a sampler: logit %d is %g, alone %g", i, logits[i], v)
			}
		}
		return nil
	})
}
