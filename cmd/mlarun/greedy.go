package main

import (
	"context"
	"errors"
	"fmt"

	"mla/runtime/device"
	"mla/runtime/engine"
	"mla/runtime/plan"
	"mla/runtime/serve/scheduler"
	"mla/runtime/text/sample"
)

// greedy prints the ids of the most likely continuation in one line. Several lists of tokens are continued
// together, and each gets a line. Tokens that end a text do not stop it.
func greedy(e *env, args []string) (err error) {
	f := newFlags(e, "mlarun greedy", "-model F -tokens 3,40,200 [-tokens 3,7 ...] [-n 16] [flags]").running().comparing()
	var lists [][]int32
	f.Func("tokens", "token `ids`, separated by commas or spaces; given several times, the lists are continued together", func(text string) error {
		ids, err := parseTokens(text)
		if err == nil && len(ids) == 0 {
			err = errors.New("a list without tokens")
		}
		lists = append(lists, ids)
		return err
	})
	n := f.Int("n", 16, "tokens to generate")
	f.contextFlag()
	if stdin, err := f.parseAll(args); err != nil {
		return err
	} else if stdin {
		return f.wrong("unexpected argument %q", "-")
	}
	switch {
	case len(lists) == 0:
		return f.wrong("-tokens is missing")
	case *n < 0:
		return f.wrong("-n is %d; expected 0 or more", *n)
	}
	ctx, stop := interruptible()
	defer stop()
	run := f.greedyOne
	if len(lists) > 1 {
		run = f.greedyAll
	}
	results, err := run(ctx, lists, *n)
	if err != nil {
		return err
	}
	for _, tokens := range results {
		if _, err := fmt.Fprintln(e.out, formatTokens(tokens)); err != nil {
			return err
		}
	}
	return nil
}

// greedyOne continues a single list.
func (f *flags) greedyOne(ctx context.Context, lists [][]int32, n int) (results [][]int32, err error) {
	m, err := f.load(func(int) int { return max(len(lists[0])+max(n-1, 0), f.least) })
	if err != nil {
		return nil, err
	}
	defer closing(m, &err)
	sampler, err := sample.New(sample.Off())
	if err != nil {
		return nil, err
	}
	p := f.progress("prompt")
	defer p.clear()
	res, err := m.Generate(ctx, engine.Request{Prompt: lists[0], Max: n, Sampler: sampler, Ahead: f.ahead, Progress: p.count}, func(int32) bool { return true })
	return [][]int32{res.Tokens}, err
}

// greedyAll continues all lists together.
func (f *flags) greedyAll(ctx context.Context, lists [][]int32, n int) (results [][]int32, err error) {
	m, err := f.loadFor(func(eng *engine.Engine) (capacity, error) {
		r := capacity{context: f.least, sessions: min(len(lists), device.MaxTables)}
		for _, tokens := range lists {
			length := len(tokens) + max(n-1, 0)
			r.context = max(r.context, length)
			r.pages = min(r.pages+plan.Pages(min(length, eng.MaxContext())), device.MaxPages)
		}
		return r, nil
	})
	if err != nil {
		return nil, err
	}
	defer closing(m, &err)
	s, err := scheduler.New(m.model, scheduler.Config{Ahead: f.ahead})
	if err != nil {
		return nil, err
	}
	p := f.progress("lists")
	defer p.clear()
	results = make([][]int32, len(lists))
	var failed error
	ended := 0
	for i, tokens := range lists {
		sampler, err := sample.New(sample.Off())
		if err != nil {
			return nil, err
		}
		err = s.Submit(ctx, scheduler.Request{
			Continuation: scheduler.Continuation{
				Prompt: tokens,
				Max:    n,
				Done: func(res engine.Result, err error) {
					results[i], failed = res.Tokens, errors.Join(failed, err)
					ended++
					p.count(ended, len(lists))
				},
			},
			Sampler: sampler,
		})
		if err != nil {
			return nil, fmt.Errorf("list %d: %w", i+1, err)
		}
	}
	if err := s.Run(); err != nil {
		return nil, err
	}
	return results, failed
}
