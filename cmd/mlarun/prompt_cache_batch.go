package main

import (
	"context"
	"errors"

	"mla/runtime/engine/paging"
	"mla/runtime/plan"
)

// commonPrompt returns the tokens with which all jobs begin, up to the context's length.
func (l *loaded) commonPrompt(list []*job) []int32 {
	tokens := list[0].turn.Prompt
	for _, j := range list[1:] {
		tokens = tokens[:paging.CommonPrefix(tokens, j.turn.Prompt)]
	}
	return tokens[:min(len(tokens), l.model.Context())]
}

// sharing reads the common beginning of the prompts from -prompt-cache's file into the model's pages, where
// all jobs find it.
func (s *settings) sharing(ctx context.Context, m *loaded, list []*job) error {
	return s.aside(m, func() (err error) {
		if s.kept, err = s.openCache(m); err != nil {
			return err
		}
		_, err = s.kept.restore(ctx, m.commonPrompt(list))
		return errors.Join(err, s.kept.close())
	})
}

// shared writes the common beginning of all prompts to -prompt-cache's file if it is longer than a page, the
// least length that prompts share.
func (s *settings) shared(ctx context.Context, m *loaded, list []*job) error {
	tokens := m.commonPrompt(list)
	if len(tokens) < plan.PageRows {
		return nil
	}
	return s.aside(m, func() error {
		if err := m.Sync(ctx, tokens, nil); err != nil { // reuses what is still in the pages
			return err
		}
		s.kept.ran(tokens)
		return s.kept.save()
	})
}

// aside calls f with a session, before or after all jobs, if there is a file to keep.
func (s *settings) aside(m *loaded, f func() error) (err error) {
	if s.promptCache == "" {
		return nil
	}
	if m.Session, err = m.model.NewSession(); err != nil {
		return err
	}
	err = errors.Join(f(), m.Session.Close())
	m.Session = nil
	return err
}
