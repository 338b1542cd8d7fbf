package engine

import (
	"context"

	"mla/runtime/device"
	"mla/runtime/plan"
)

// Stress runs a prompt and then, behind it, two tokens in turns, again and again,
// see device.Stress. It fails if there is no room for them. The timeline is empty
// afterwards.
func (s *Session) Stress(ctx context.Context, prompt []int32, tokens [2]int32, replays int, progress Progress) (*device.Stressed, error) {
	pos := len(prompt)
	if pos >= s.context {
		return nil, &ContextError{Tokens: pos + 1, Context: s.context}
	}
	if err := s.Known(tokens[:]); err != nil {
		return nil, err
	}
	if err := s.Sync(ctx, prompt, nil); err != nil {
		return nil, err
	}
	defer s.rewind(0)
	what := &device.Stressing{Replays: replays, Progress: progress}
	for i, t := range tokens {
		what.Rows[i] = plan.Row{Token: uint32(t), Pos: uint32(pos), NKV: uint32(pos + 1)}
	}
	return device.Stress(ctx, s.runner, what)
}
