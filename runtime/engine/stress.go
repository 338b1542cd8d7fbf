package engine

import (
	"context"
	"errors"

	"mla/runtime/device"
)

// Stress runs a prompt, and then two different tokens after it in turns, many times; see device.Stress. It
// fails if the context is too short. The timeline is empty afterwards.
func (s *Session) Stress(ctx context.Context, prompt []int32, tokens [2]int32, replays int, progress Progress) (*device.Stressed, error) {
	if s.model.stateful() {
		return nil, errors.New("the model has linear attention, whose state every row changes: it cannot run rows again to compare them")
	}
	if len(prompt) >= s.model.context {
		return nil, &ContextError{Tokens: len(prompt) + 1, Context: s.model.context}
	}
	if err := s.Known(tokens[:]); err != nil {
		return nil, err
	}
	if err := s.Sync(ctx, prompt, nil); err != nil {
		return nil, err
	}
	if err := s.Reserve(1); err != nil {
		return nil, err
	}
	what := &device.Stressing{Replays: replays, Progress: progress}
	for i, t := range tokens {
		what.Rows[i] = s.row(t, 0)
	}
	s.model.turn()
	s.logits = nil
	stressed, err := device.Stress(ctx, s.model.runner, what)
	return stressed, errors.Join(err, s.rewind(0))
}
