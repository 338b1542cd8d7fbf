package main

import (
	"cmp"
	"context"
	"log/slog"

	"mla/runtime/engine"
	"mla/runtime/engine/promptcache"
	"mla/runtime/serve/completion"
	"mla/runtime/serve/scheduler"
)

// service returns the service that runs the model for the server.
func (s *serving) service(eng *engine.Engine, log *slog.Logger) (*completion.Service, error) {
	tok, err := eng.Tokenizer()
	if err != nil {
		return nil, err
	}
	cfg := completion.Config{
		Tokenizer: tok, Queue: s.queue, Scheduler: scheduler.Config{PromptRows: s.promptRows, Ahead: min(s.ahead, completion.AheadAlone)}, Draft: s.drafting().Drafters(), Log: log, Stuck: s.stuck,
		Retries: cmp.Or(s.retries, -1), // in Config, 0 is the default
		Load:    s.loads(eng),
	}
	if s.promptsDir != "" {
		kv, err := s.config(1)
		if err != nil {
			return nil, err
		}
		cfg.Prompts = &completion.Prompts{Dir: s.promptsDir, Max: keptPrompts,
			Key: func(m *engine.Model) (promptcache.Key, error) { return eng.PromptKey(m, kv.KV) }}
	}
	return completion.New(cfg), nil
}

// loads returns a function that loads a model on its device, as the command line says.
func (s *serving) loads(eng *engine.Engine) func(context.Context) (*engine.Model, error) {
	return func(context.Context) (*engine.Model, error) {
		return s.loadInto(eng, func(*engine.Engine) (capacity, error) { return s.capacity, nil })
	}
}
