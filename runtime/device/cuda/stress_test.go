package cuda_test

import (
	"context"
	"errors"
	"fmt"

	"mla/runtime/device"
	"mla/runtime/doctor/reference"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// The stress case has stressPrompt tokens before those that are replayed, and more
// replays than one batch has.
const (
	stressPrompt  = 3
	stressReplays = 140
)

// stressed replays a token on a runner and returns what differs.
func stressed(bundles ...*plan.Bundle) func(lib string) error {
	return func(lib string) error {
		return with(lib, "youtu-tiny-F32", device.Config{Context: stressPrompt + 1, KV: quant.F16}, stress, bundles...)
	}
}

func stress(r device.Runner) error {
	for pos := range stressPrompt {
		if _, err := r.Replay(reference.Rows(int32(pos), pos), nil); err != nil { // in flight
			return err
		}
	}
	done := 0
	s := &device.Stressing{Replays: stressReplays, Progress: func(n, _ int) { done = n }}
	for i := range s.Rows {
		s.Rows[i] = reference.Step(int32(7+i), stressPrompt)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	got, err := device.Stress(ctx, r, s)
	switch {
	case err != nil:
		return err
	case got.Replays != stressReplays || done != stressReplays || len(got.Parts) != 4:
		return fmt.Errorf("%d replays of %d, %d reported, parts %v", got.Replays, stressReplays, done, got.Parts)
	case got.First != nil:
		return fmt.Errorf("%d differ, %w", got.Different, errors.New(got.First.String()))
	}
	cancel()
	if got, err := device.Stress(ctx, r, s); !errors.Is(err, context.Canceled) || got.Replays != 0 {
		return fmt.Errorf("cancelled: %+v, %w", got, err)
	}
	s.Rows[0].Pos, s.Rows[1].Pos = stressPrompt+1, stressPrompt+1
	if _, err := device.Stress(context.Background(), r, s); err == nil {
		return errors.New("a position outside the context is accepted")
	}
	return nil
}
