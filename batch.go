package mla

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mla/runtime/engine"
	"mla/runtime/serve/scheduler"
	"mla/runtime/text/chat/turn"
)

// Batch continues prompts, as many side by side as sessions can be opened (Options.Sessions),
// and returns the results in their order. Each text is what it would be alone. The error
// tells of every prompt that failed, by its number from 1; the results of the others are
// good.
func (m *Model) Batch(ctx context.Context, prompts []string, g Generation) ([]Result, error) {
	turns := make([]*turn.Turn, len(prompts))
	for i, text := range prompts {
		turns[i] = turn.Text(m.tokenizer, m.Tokenize(text))
	}
	return m.batch(ctx, turns, g)
}

// BatchChats answers conversations, as Batch continues prompts. The last message of each is
// that to answer.
func (m *Model) BatchChats(ctx context.Context, chats [][]Message, o ChatOptions, g Generation) ([]Result, error) {
	r, err := m.renderer()
	if err != nil {
		return nil, err
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	turns := make([]*turn.Turn, len(chats))
	for i, messages := range chats {
		if turns[i], err = turn.New(m.tokenizer, r, messages, o.options()); err != nil {
			return nil, fmt.Errorf("chat %d: %w", i+1, err)
		}
	}
	return m.batch(ctx, turns, g)
}

// batch writes turns side by side.
func (m *Model) batch(ctx context.Context, turns []*turn.Turn, g Generation) ([]Result, error) {
	if m.served {
		return nil, errServed
	}
	if len(turns) == 0 {
		return nil, nil
	}
	rules, err := g.rules(ctx, turns[0])
	if err != nil {
		return nil, err
	}
	s, err := scheduler.New(m.model, scheduler.Config{Ahead: ahead})
	if err != nil {
		return nil, err
	}
	start, results, errs := time.Now(), make([]Result, len(turns)), make([]error, len(turns))
	for i, t := range turns {
		out, sampler, err := m.ruled(t, &g, rules)
		if err != nil {
			return nil, err
		}
		done := func(r engine.Result, err error) {
			out.End(r.Reason == Stop)
			results[i] = result(t, out, r)
			results[i].Elapsed = time.Since(start)
			if err != nil {
				errs[i] = fmt.Errorf("prompt %d: %w", i+1, explain(out, err))
			}
		}
		r := scheduler.Request{Continuation: scheduler.Continuation{Prompt: t.Prompt, Max: g.max(), Stop: t.Ends, Done: done}, Sampler: sampler, Draft: m.drafting.Drafters(), Emit: out.Token}
		if err := s.Submit(ctx, r); err != nil {
			done(engine.Result{Reason: Failed}, err)
		}
	}
	return results, errors.Join(append(errs, s.Run())...)
}
