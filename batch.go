package mla

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mla/runtime/engine"
	"mla/runtime/serve/scheduler"
)

// Batch continues prompts, as many side by side as sessions can be opened (Options.Sessions),
// and returns the results in their order. Each text is what it would be alone. The error
// tells of every prompt that failed, by its number from 1; the results of the others are
// good.
func (m *Model) Batch(ctx context.Context, prompts []string, g Generation) ([]Result, error) {
	s, err := scheduler.New(m.model, scheduler.Config{Ahead: ahead})
	if err != nil {
		return nil, err
	}
	start, results, errs := time.Now(), make([]Result, len(prompts)), make([]error, len(prompts))
	for i, text := range prompts {
		sampler, err := m.sampler(g, m.tokenizer.IsEOG)
		if err != nil {
			return nil, err
		}
		prompt, out := m.Tokenize(text), m.newWriter(g.Stop, func(string) bool { return true })
		done := func(r engine.Result, err error) {
			out.end()
			results[i] = out.result(r, len(prompt))
			results[i].Elapsed = time.Since(start)
			if err != nil {
				errs[i] = fmt.Errorf("prompt %d: %w", i+1, err)
			}
		}
		r := scheduler.Request{Continuation: scheduler.Continuation{Prompt: prompt, Max: g.max(), Stop: m.tokenizer.IsEOG, Done: done}, Sampler: sampler, Emit: out.token}
		if err := s.Submit(ctx, r); err != nil {
			done(engine.Result{Reason: Failed}, err)
		}
	}
	return results, errors.Join(append(errs, s.Run())...)
}
