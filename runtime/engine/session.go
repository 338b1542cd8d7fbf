package engine

import (
	"context"
	"fmt"

	"mla/runtime/engine/paging"
	"mla/runtime/plan"
)

// Session is a timeline: tokens in order, and the pages of the latent caches that hold
// their keys and values. It is not safe for concurrent use, nor are two sessions of
// one model.
type Session struct {
	model    *Model
	table    int // its block table
	pages    *paging.Sequence
	private  bool   // shares no pages
	scope    string // of those that it shares pages with
	pretends bool   // the pages hold other rows than those of its tokens
	closed   bool
	tokens   []int32
	logits   []float32 // after the last token; nil if they are not there
	fed      fed       // of a model that predicts
	// predicted says that its layer guesses for this session.
	predicted bool
	// resting says that its hidden states are not kept, as nothing is guessed for a while.
	resting bool

	folded   int   // tokens that its state has folded, where the model has states: more than the timeline has, where steps are ahead of it
	prompted int   // tokens of the timeline and the last prompt
	turned   int   // after how many tokens there is a copy of the state that is of what was generated
	stops    []int // where the state is to be copied, rising
	mark     mark
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

// Progress is called before each piece of the tokens that Sync runs, with how many of the
// timeline's tokens are done.
type Progress func(done, total int)

// Sync makes the timeline equal to tokens. What they have in common with the
// present timeline is kept, and what follows of them in the model's pages is reused;
// the rest is run. Afterwards Logits belong to the last token. The context is looked
// at between pieces of Model.Width tokens: when Sync is cancelled, the timeline holds the tokens that were
// finished. If pages run out, it fails with *OutOfPages before any token is run.
func (s *Session) Sync(ctx context.Context, tokens []int32, progress Progress) error {
	_, err := s.sync(ctx, tokens, progress)
	return err
}

// sync is Sync, and returns how many tokens were not run.
func (s *Session) sync(ctx context.Context, tokens []int32, progress Progress) (reused int, err error) {
	if err := s.allows(tokens); err != nil {
		return 0, err
	}
	keep := s.Common(tokens)
	if keep == len(tokens) {
		if keep == 0 {
			return 0, s.rewind(0)
		}
		return keep, nil
	}
	if err := ctx.Err(); err != nil {
		return keep, err
	}
	if err := s.rewind(keep); err != nil {
		return 0, err
	}
	if _, err := s.Reuse(tokens[keep:]); err != nil {
		return len(s.tokens), err
	}
	keep = len(s.tokens)
	if err := s.Reserve(len(tokens) - keep); err != nil {
		return keep, err
	}
	for i := keep; i < len(tokens); {
		if err := ctx.Err(); err != nil {
			return keep, err
		}
		if progress != nil {
			progress(i, len(tokens))
		}
		n := s.model.piece(s.until(0, len(tokens)-i))
		if err := s.runAll(tokens[i:i+n], i+n == len(tokens)); err != nil {
			return keep, err
		}
		i += n
	}
	return keep, nil
}

// piece is how many of the tokens that are left of a prompt are run next.
func (m *Model) piece(left int) int { return m.filled(min(m.Width(), left)) }

// runAll runs tokens after the timeline in one replay, the last one with logits if they
// are wanted.
func (s *Session) runAll(tokens []int32, logits bool) error {
	rows := make([]Row, len(tokens))
	for i, t := range tokens {
		rows[i] = Row{Session: s, Token: t, Logits: logits && i == len(tokens)-1}
	}
	_, err := s.model.replay(rows, nil)
	return err
}

// allows fails if the timeline cannot be tokens.
func (s *Session) allows(tokens []int32) error {
	if err := s.usable(); err != nil {
		return err
	}
	return s.model.Allows(tokens)
}

// FillForBench makes the timeline equal to tokens without running any: the caches keep
// what they hold. What is generated then means nothing, but takes as long as after
// a real prompt, which is what a benchmark at a great depth wants. Other sessions do
// not find these tokens.
func (s *Session) FillForBench(tokens []int32) error {
	if err := s.allows(tokens); err != nil {
		return err
	}
	s.pages.Close()
	s.begin(true)
	s.pretends, s.tokens, s.logits = true, nil, nil
	s.fed.from(0)
	if err := s.Reserve(len(tokens)); err != nil {
		return err
	}
	s.tokens = append(s.tokens, tokens...)
	s.folded = len(s.tokens) // or so it pretends
	s.fed.from(len(s.tokens))
	o, err := s.pages.Append(tokens)
	if err != nil {
		return err
	}
	return s.model.order(s, o)
}

// Known fails if a token is outside the vocabulary.
func (s *Session) Known(tokens []int32) error { return s.model.known(tokens) }

// Common is the number of leading tokens that Sync would keep: the common
// prefix, less the last token if its logits have to be computed; of a model with states
// as many of them as a known state has.
func (s *Session) Common(tokens []int32) int {
	n := paging.CommonPrefix(tokens, s.tokens)
	if have := n == len(s.tokens) && s.logits != nil; n == len(tokens) && n > 0 && !have {
		n--
	}
	return s.resumable(n)
}

// Append runs one more token. It fails with *OutOfPages if there is no page for it.
func (s *Session) Append(token int32) error { return s.Run(token, true) }

// Run is Append, with logits only if they are wanted.
func (s *Session) Run(token int32, logits bool) error {
	if len(s.tokens) >= s.model.context {
		return &ContextError{Tokens: len(s.tokens) + 1, Context: s.model.context}
	}
	if token < 0 || int(token) >= s.model.vocab {
		return fmt.Errorf("token %d is outside the vocabulary of %d", token, s.model.vocab)
	}
	return s.runAll([]int32{token}, logits)
}

// row is a token after the timeline and n more tokens.
func (s *Session) row(token int32, n int) plan.Row {
	pos := uint32(len(s.tokens) + n)
	return plan.Row{Token: uint32(token), Pos: pos, NKV: pos + 1, Table: uint32(s.table)}
}

// Logits are [VocabSize], of the token that follows the timeline. They are
// valid until the timeline changes or another session of the model runs a token. They
// are nil from then on, while the timeline is empty, after a cancelled Sync, and where
// the device picked what follows.
func (s *Session) Logits() []float32 { return s.logits }

// Tokens is the timeline. The caller must not change it.
func (s *Session) Tokens() []int32 { return s.tokens }

// Context is the greatest length of the timeline.
func (s *Session) Context() int { return s.model.context }

// Close gives the pages back. What they hold is found by sessions to come, until the
// pages are needed for something else. Closing twice does nothing.
func (s *Session) Close() error {
	if s.closed {
		return nil
	}
	err := s.feedOn()
	s.pages.Close()
	s.model.sessions[s.table] = nil
	if s.model.holds(s) {
		s.model.turn()
	}
	s.closed, s.tokens, s.logits = true, nil, nil
	return err
}
