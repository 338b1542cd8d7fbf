package engine

import (
	"context"
	"fmt"

	"mla/runtime/engine/paging"
	"mla/runtime/plan"
)

// Session is a timeline: tokens in order, and the pages of the latent caches with their keys and values.
// Neither a session nor the sessions of one model together are safe for concurrent use.
type Session struct {
	model    *Model
	table    int // its block table
	pages    *paging.Sequence
	private  bool   // shares no pages
	scope    string // scope of the sessions that it shares pages with
	pretends bool   // the pages hold other rows than those of its tokens, see FillForBench
	closed   bool
	tokens   []int32
	logits   []float32 // after the last token; nil: not known
	fed      fed       // progress of the MTP layer
	// predicted says that the MTP layer drafts for this session.
	predicted bool
	// resting says that hidden states are not kept, because drafting pauses.
	resting bool

	folded   int   // tokens that the state has folded, if there is one; more than the timeline's while a device runs ahead
	prompted int   // tokens of the timeline and the last prompt
	turned   int   // position of the saved state within the generated text
	stops    []int // positions at which the state is to be copied, rising
	mark     mark
}

// ContextError says that a timeline would be longer than the session's context.
type ContextError struct {
	Tokens, Context int
}

func (e *ContextError) Error() string {
	return fmt.Sprintf("%d tokens do not fit the context of %d", e.Tokens, e.Context)
}

// NoTokenError says that no token can follow a position, because its logits are not numbers.
type NoTokenError struct {
	Position int
}

func (e *NoTokenError) Error() string {
	return fmt.Sprintf("no token can follow position %d: all logits are -Inf or NaN", e.Position)
}

// Progress is called before each piece that Sync runs, with the number of finished tokens and of all tokens.
type Progress func(done, total int)

// Sync makes the timeline equal to tokens. It keeps the beginning that they share with the current timeline,
// reuses the continuation in the model's pages, and runs the rest. Afterwards Logits belong to the last
// token. It checks ctx between pieces of Model.Width tokens; if cancelled, the timeline holds the finished
// tokens. If there are not enough pages it returns *OutOfPages before it runs any token.
func (s *Session) Sync(ctx context.Context, tokens []int32, progress Progress) error {
	_, err := s.sync(ctx, tokens, progress)
	return err
}

// sync is Sync; it also returns how many tokens need not be run.
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

// piece is how many of a prompt's remaining tokens are run next.
func (m *Model) piece(left int) int { return m.filled(min(m.Width(), left)) }

// runAll runs tokens after the timeline in one replay; the last one with logits if they are wanted.
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

// FillForBench makes the timeline equal to tokens without running them: the caches keep their contents.
// Generated text is then meaningless, but takes as long as after a real prompt, which is enough for a
// benchmark at a great depth. Other sessions do not find these tokens.
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
	s.folded = len(s.tokens) // as if it had run them
	s.fed.from(len(s.tokens))
	o, err := s.pages.Append(tokens)
	if err != nil {
		return err
	}
	return s.model.order(s, o)
}

// Known fails if a token is outside the vocabulary.
func (s *Session) Known(tokens []int32) error { return s.model.known(tokens) }

// Common is the number of leading tokens that Sync would keep: the common prefix, without the last token if
// its logits have to be computed. For a model with states it is the deepest known state within these.
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

// row is the row of a token that is n tokens after the timeline.
func (s *Session) row(token int32, n int) plan.Row {
	pos := uint32(len(s.tokens) + n)
	return plan.Row{Token: uint32(token), Pos: pos, NKV: pos + 1, Table: uint32(s.table)}
}

// Logits is the logits of the token after the timeline, [VocabSize]. They are valid until the timeline
// changes or another session of the model runs a token. After that they are nil. They are also nil for an
// empty timeline, after a cancelled Sync, and where the device has picked the token.
func (s *Session) Logits() []float32 { return s.logits }

// Tokens is the timeline. The caller must not change it.
func (s *Session) Tokens() []int32 { return s.tokens }

// Context is the greatest length of the timeline in tokens.
func (s *Session) Context() int { return s.model.context }

// Close releases the pages. Later sessions find their contents until the pages are reused. A second Close
// does nothing.
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
