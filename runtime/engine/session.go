package engine

import (
	"context"
	"fmt"

	"mla/runtime/device"
	"mla/runtime/plan"
)

// Session is a timeline: the tokens whose keys and values the caches hold, in
// order. It is not safe for concurrent use.
type Session struct {
	runner  device.Runner
	vocab   int
	context int
	tokens  []int32
	logits  []float32 // after the last token; nil if they were not computed
}

// ContextError says that a timeline would be longer than the session's caches.
type ContextError struct {
	Tokens, Context int
}

func (e *ContextError) Error() string {
	return fmt.Sprintf("%d tokens do not fit the context of %d", e.Tokens, e.Context)
}

// NoTokenError says that no token can follow a position, whose logits say nothing.
type NoTokenError struct {
	Position int
}

func (e *NoTokenError) Error() string {
	return fmt.Sprintf("no token can follow position %d: all logits are -Inf or NaN", e.Position)
}

// Progress is called before each token that Sync runs, with how many of the
// timeline's tokens are done.
type Progress func(done, total int)

// Sync makes the timeline equal to tokens. What they have in common with the
// present timeline is kept; the rest is dropped and run anew. Afterwards Logits
// belong to the last token. The context is looked at between tokens: when Sync
// is cancelled, the timeline holds the tokens that were finished.
func (s *Session) Sync(ctx context.Context, tokens []int32, progress Progress) error {
	if len(tokens) > s.context {
		return &ContextError{Tokens: len(tokens), Context: s.context}
	}
	if err := s.Known(tokens); err != nil {
		return err
	}
	keep := s.Common(tokens)
	for i := keep; i < len(tokens); i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if progress != nil {
			progress(i, len(tokens))
		}
		if i == keep {
			s.rewind(keep)
		}
		if err := s.run(tokens[i], i == len(tokens)-1); err != nil {
			return err
		}
	}
	if len(tokens) == 0 {
		s.rewind(0)
	}
	return nil
}

// Pretend makes the timeline equal to tokens without running any: the caches keep
// what they hold. What is generated then means nothing, but takes as long as behind
// a real prompt, which is what a benchmark at a great depth wants.
func (s *Session) Pretend(tokens []int32) error {
	if len(tokens) > s.context {
		return &ContextError{Tokens: len(tokens), Context: s.context}
	}
	s.rewind(0)
	s.tokens = append(s.tokens, tokens...)
	return nil
}

// Known fails if a token is outside the vocabulary.
func (s *Session) Known(tokens []int32) error {
	for i, t := range tokens {
		if t < 0 || int(t) >= s.vocab {
			return fmt.Errorf("token %d at position %d is outside the vocabulary of %d", t, i, s.vocab)
		}
	}
	return nil
}

// Common is the number of leading tokens that Sync would keep: the common
// prefix, less the last token if its logits have to be computed.
func (s *Session) Common(tokens []int32) int {
	n := 0
	for n < len(tokens) && n < len(s.tokens) && tokens[n] == s.tokens[n] {
		n++
	}
	if have := n == len(s.tokens) && s.logits != nil; n == len(tokens) && n > 0 && !have {
		n--
	}
	return n
}

// Append runs one more token.
func (s *Session) Append(token int32) error {
	if len(s.tokens) >= s.context {
		return &ContextError{Tokens: len(s.tokens) + 1, Context: s.context}
	}
	if token < 0 || int(token) >= s.vocab {
		return fmt.Errorf("token %d is outside the vocabulary of %d", token, s.vocab)
	}
	return s.run(token, true)
}

// run replays the sequence for a token at the end of the timeline.
func (s *Session) run(token int32, logits bool) error {
	pos := len(s.tokens)
	s.logits = nil
	out, err := s.runner.Replay(plan.Row{Token: uint32(token), Pos: uint32(pos), NKV: uint32(pos + 1)}, logits)
	if err != nil {
		return fmt.Errorf("token %d at position %d: %w", token, pos, err)
	}
	s.tokens = append(s.tokens, token)
	s.logits = out
	return nil
}

// rewind forgets all tokens from position n on. Their cache rows stay behind
// and are overwritten by the tokens that follow.
func (s *Session) rewind(n int) {
	s.tokens, s.logits = s.tokens[:n], nil
}

// Logits are [VocabSize], of the token that follows the timeline. They are
// valid until the timeline changes, and nil while it is empty, after a cancelled
// Sync, and after a Generate whose tokens the device picked.
func (s *Session) Logits() []float32 { return s.logits }

// Tokens is the timeline. The caller must not change it.
func (s *Session) Tokens() []int32 { return s.tokens }

// Context is the greatest length of the timeline.
func (s *Session) Context() int { return s.context }

// Dispatches is the number of kernel launches per token.
func (s *Session) Dispatches() int { return s.runner.Dispatches() }

// Compilation is what the device has compiled; ok is false if it compiles nothing.
func (s *Session) Compilation() (c device.Compilation, ok bool, err error) {
	r, ok := s.runner.(device.Compiled)
	if ok {
		c, err = r.Compilation()
	}
	return c, ok, err
}

// Bytes is the memory of the caches and buffers.
func (s *Session) Bytes() int64 { return s.runner.Bytes() }

// Close frees the caches.
func (s *Session) Close() error { return s.runner.Close() }
