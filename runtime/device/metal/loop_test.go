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

// loops checks that the GPU picks the same tokens as the host, also in more units than fit.
func loops(replay metal.Replay) func(string) error {
	return func(lib string) error {
		return with(lib, tiny, device.Config{Context: reference.LoopContext, KV: tinyConfig.KV}, metal.Options{Replay: replay}, func(r device.Runner) error {
			return reference.Loops(r, crowded)
		})
	}
}

// crowded asks for more units than can be in flight before it fetches a token.
func crowded(d device.Picker, p sample.Params, want []int32) error {
	if _, err := reference.BeginLoop(d, p); err != nil {
		return err
	}
	for i := range 2 * metal.Ring {
		if err := d.Continue(1); err != nil {
			return err
		}
		if n := metal.InFlight(d); n != min(i+1, metal.Ring) {
			return fmt.Errorf("%d units are in flight; expected %d", n, min(i+1, metal.Ring))
		}
	}
	for i := range 2 * metal.Ring {
		picked, err := d.Next()
		if err != nil {
			return err
		}
		if !slices.Equal(picked, want[1+i:][:1]) {
			return fmt.Errorf("more units than fit: step %d picked %d; expected %d", i, picked, want[1+i])
		}
	}
	return nil
}

func misuse(lib string) error {
	return with(lib, tiny, device.Config{Context: reference.MisuseContext, KV: tinyConfig.KV}, metal.Options{}, reference.Misuse)
}

// lostLoop loses a unit with two more in flight, and checks that all later calls return its error.
func lostLoop(lib string) error {
	return with(lib, tiny, tinyConfig, metal.Options{}, func(r device.Runner) error {
		d := r.(device.Picker)
		_, err := reference.BeginLoop(d, sample.Off())
		if err := errors.Join(err, d.Continue(2), d.Continue(2), d.Continue(2)); err != nil {
			return err
		}
		_, first := d.Next()
		_, next := d.Next()
		if _, err := d.Replay(reference.Rows(1, 0), nil); first == nil || next == nil || err == nil || d.Continue(1) == nil {
			return nil // which the test takes for a missing error
		}
		return first
	})
}

// noSampler checks that a runner whose sampler could not be made fails only to pick.
func noSampler(lib string) error {
	wide := tinyConfig
	wide.Width = 16
	return with(lib, tiny, wide, metal.Options{}, func(r device.Runner) error {
		rows := append(reference.Rows(1, 0), reference.Rows(7, 1)...)
		for last := range rows {
			if _, err := r.(device.Picker).Pick(rows[:last+1], []device.Pick{{Row: last}}); !errors.Is(err, device.ErrSampling) {
				return fmt.Errorf("picks without a sampler: %w", err)
			}
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
		for i, v := range alone { // rows of a batch are products of matrices, which add up in another order
			if off := math.Abs(float64(logits[i] - v)); !(off <= 1e-4) {
				return fmt.Errorf("two rows without a sampler: logit %d is %g, alone %g", i, logits[i], v)
			}
		}
		return nil
	})
}
