package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"mla/runtime/engine"
	"mla/runtime/text/sample"
)

// runBatch runs as many tokens as there are after depth in n sessions side by side, one token of each at a
// time, and picks after each. The speed does not depend on the contents of the other sessions' caches. If the
// device can continue by itself, it runs the most likely tokens; these must be mostly different, as different
// tokens use different experts. Otherwise it runs the given tokens.
func (l *loaded) runBatch(ctx context.Context, n, depth int, tokens []int32) (took timed, err error) {
	rows := []engine.Row{{Session: l.Session}}
	for len(rows) < n {
		s, err := l.model.NewPrivateSession()
		if err != nil {
			return timed{}, err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		if err := s.FillForBench(tokens[:depth]); err != nil {
			return timed{}, err
		}
		rows = append(rows, engine.Row{Session: s})
	}
	for i := range rows {
		if rows[i].Sampler, err = sample.New(sample.Off()); err != nil {
			return timed{}, err
		}
	}
	start := time.Now()
	for i := range tokens[depth:] {
		if err := ctx.Err(); err != nil {
			return timed{}, err
		}
		for j := range rows {
			rows[j].Token = tokens[depth+(i+j)%(len(tokens)-depth)]
		}
		picked, err := l.model.Pick(rows)
		if err != nil {
			return timed{}, err
		}
		left := len(tokens) - depth - 1
		if i > 0 || left == 0 || l.flags.ahead == 0 {
			continue
		}
		if ahead := l.model.Ahead(rows, picked); ahead != nil {
			different, err := runAhead(ctx, ahead, left)
			took := timed{all: time.Since(start)}
			if err == nil && different < mostDifferent*float64(n) {
				l.flags.note("of %d tokens at a time %.1f are different, which takes less time than as many as there are\n", n, different)
			}
			return took, err
		}
	}
	return timed{all: time.Since(start)}, nil
}

// mostDifferent is the fraction of the tokens of a step that must differ.
const mostDifferent = 0.9

// runAhead lets the device run a number of steps, and returns the mean number of different tokens per step.
func runAhead(ctx context.Context, ahead *engine.Ahead, steps int) (different float64, err error) {
	all := 0
	for asked, done := 0, 0; done < steps; done++ {
		for asked < steps && ahead.InFlight() < 2 {
			n, err := ahead.Ask(1)
			if err := errors.Join(ctx.Err(), err); err != nil {
				return 0, err
			}
			asked += n
		}
		tokens, err := ahead.Next()
		if err != nil {
			return 0, err
		}
		all += len(slices.Compact(slices.Sorted(slices.Values(tokens))))
	}
	return float64(all) / float64(steps), nil
}
