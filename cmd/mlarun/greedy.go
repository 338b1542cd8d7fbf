package main

import (
	"fmt"

	"mla/runtime/engine"
	"mla/runtime/sample"
)

// greedy prints the ids of the most likely continuation in one line. It does
// not stop at tokens that end a text.
func greedy(e *env, args []string) (err error) {
	f := newFlags(e, "mlarun greedy", "-model F -tokens 3,40,200 [-n 16] [flags]").running()
	list := f.String("tokens", "", "token `ids`, separated by commas or spaces")
	n := f.Int("n", 16, "tokens to generate")
	if stdin, err := f.parseAll(args); err != nil {
		return err
	} else if stdin {
		return f.wrong("unexpected argument %q", "-")
	}
	tokens, err := f.tokenFlag(*list)
	if err != nil {
		return err
	}
	if *n < 0 {
		return f.wrong("-n is %d; expected 0 or more", *n)
	}
	m, err := f.load(func(int) int { return len(tokens) + max(*n-1, 0) })
	if err != nil {
		return err
	}
	defer closing(m, &err)
	ctx, stop := interruptible()
	defer stop()
	sampler, err := sample.New(sample.Off())
	if err != nil {
		return err
	}
	p := f.progress("prompt")
	res, err := m.Generate(ctx, engine.Request{Prompt: tokens, Max: *n, Sampler: sampler, Ahead: f.ahead, Progress: p.count}, func(int32) bool { return true })
	p.clear()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(e.out, formatTokens(res.Tokens))
	return err
}
