package quality

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"mla/runtime/engine"
)

// Text is the tokens of whole chunks.
type Text struct {
	Tokens  []int32 // [chunks * Context]
	Context int     // tokens per chunk
}

// MinContext is the least length of a chunk: one of its positions counts.
const MinContext = 4

// NewText cuts tokens into chunks, at most the given number unless it is 0. bos, unless it is negative,
// replaces the first token of every chunk.
func NewText(tokens []int32, context, most int, bos int32) (*Text, error) {
	if context < MinContext {
		return nil, fmt.Errorf("chunks of %d tokens; expected %d or more", context, MinContext)
	}
	chunks := len(tokens) / context
	if most > 0 {
		chunks = min(chunks, most)
	}
	if chunks == 0 {
		return nil, fmt.Errorf("a text of %d tokens; a chunk has %d: use a longer text or a smaller context", len(tokens), context)
	}
	t := &Text{slices.Clone(tokens[:chunks*context]), context}
	if bos >= 0 {
		for i := range chunks {
			t.Tokens[i*context] = bos
		}
	}
	return t, nil
}

// Chunks returns the number of chunks.
func (t *Text) Chunks() int { return len(t.Tokens) / t.Context }

// first returns the position in a chunk of the first token whose logits count.
func (t *Text) first() int { return t.Context / 2 }

// Positions returns how many tokens are predicted: those of every chunk's second half.
func (t *Text) Positions() int { return t.Chunks() * (t.Context - 1 - t.first()) }

// Run runs the text on a session, whose timeline it replaces. It calls visit with the logits of every
// position that counts and the token that follows, and progress with the count of all tokens. It checks ctx
// between replays.
func (t *Text) Run(ctx context.Context, m *engine.Model, s *engine.Session, progress engine.Progress, visit func(next int32, logits []float32) error) error {
	if err := m.Allows(t.Tokens[:t.Context]); err != nil {
		return err
	}
	if err := s.Known(t.Tokens); err != nil {
		return err
	}
	for i := range t.Chunks() {
		r := running{m, s, t.Tokens[i*t.Context:][:t.Context], func(done int) {
			if progress != nil {
				progress(i*t.Context+done, len(t.Tokens))
			}
		}, visit}
		if err := r.run(ctx, t.first()); err != nil {
			return err
		}
	}
	return nil
}

// running is the state of a chunk that is being run.
type running struct {
	model    *engine.Model
	session  *engine.Session
	tokens   []int32
	progress func(done int)
	visit    func(next int32, logits []float32) error
}

// run runs all tokens but the last, and calls visit for those from first.
func (r *running) run(ctx context.Context, first int) error {
	err := r.session.Sync(ctx, r.tokens[:first], func(done, _ int) { r.progress(done) })
	last := len(r.tokens) - 1
	for from := first; from < last && err == nil; {
		to := min(from+r.model.Width(), last)
		if err = ctx.Err(); err == nil {
			r.progress(from)
			err = r.step(from, to)
		}
		from = to
	}
	return err
}

// step runs the tokens from … to-1, and calls visit for each.
func (r *running) step(from, to int) error {
	rows := make([]engine.Row, 0, to-from)
	for _, token := range r.tokens[from:to] {
		rows = append(rows, engine.Row{Session: r.session, Token: token, Logits: true})
	}
	if err := r.session.Reserve(len(rows)); err != nil {
		return err
	}
	var failed error
	err := r.model.Step(rows, func(first int, of [][]float32) {
		for i, logits := range of {
			if failed == nil {
				failed = r.visit(r.tokens[from+first+i+1], logits)
			}
		}
	})
	return errors.Join(err, failed)
}
