package main

import (
	"cmp"
	"context"
	"log/slog"

	"mla/runtime/engine"
	"mla/runtime/engine/promptcache"
	"mla/runtime/plan"
	"mla/runtime/serve/completion"
	"mla/runtime/serve/scheduler"
)

// service is what runs the model for the server.
func (s *serving) service(eng *engine.Engine, log *slog.Logger) (*completion.Service, error) {
	tok, err := eng.Tokenizer()
	if err != nil {
		return nil, err
	}
	current := eng // whose model is loaded
	cfg := completion.Config{
		Tokenizer: tok, Queue: s.queue, Scheduler: scheduler.Config{PromptRows: s.promptRows, Ahead: min(s.ahead, completion.AheadAlone)}, Draft: s.drafting().Drafters(), Log: log, Stuck: s.stuck,
		Retries: cmp.Or(s.retries, -1), // there 0 is the default
		Load:    s.loads(s.flags, eng),
	}
	if eng.Bundle().Activations == plan.ElemF16 {
		cfg.Wider = func() (func(context.Context) (*engine.Model, error), error) {
			wide := s.wider()
			other, err := wide.open()
			if err != nil {
				return nil, err
			}
			s.opened = other
			current = other
			return s.loads(wide, other), nil
		}
	}
	if s.promptsDir != "" {
		kv, err := s.config(1)
		if err != nil {
			return nil, err
		}
		cfg.Prompts = &completion.Prompts{Dir: s.promptsDir, Max: keptPrompts,
			Key: func(m *engine.Model) (promptcache.Key, error) { return current.PromptKey(m, kv.KV) }}
	}
	return completion.New(cfg), nil
}

// loads brings a model to its device, as a command line has it.
func (s *serving) loads(f *flags, eng *engine.Engine) func(context.Context) (*engine.Model, error) {
	return func(context.Context) (*engine.Model, error) {
		return f.loadInto(eng, func(*engine.Engine) (room, error) { return s.room, nil })
	}
}
