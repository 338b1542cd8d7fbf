package main

import (
	"context"
	"errors"
	"time"

	"mla/runtime/engine"
	"mla/runtime/sample"
)

// runBatch runs the tokens behind depth in n sessions side by side, one of each at a time,
// and picks behind each. What is in the caches of the others before does not matter for the
// speed, nor that what is picked is not what runs next.
func (l *loaded) runBatch(ctx context.Context, n, depth int, tokens []int32) (took timed, err error) {
	rows := []engine.Row{{Session: l.Session}}
	for len(rows) < n {
		s, err := l.model.NewPrivateSession()
		if err != nil {
			return timed{}, err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		if err := s.Pretend(tokens[:depth]); err != nil {
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
	for i, token := range tokens[depth:] {
		if err := ctx.Err(); err != nil {
			return timed{}, err
		}
		for j := range rows {
			rows[j].Token = tokens[depth+(i+j)%(len(tokens)-depth)]
		}
		rows[0].Token = token
		if _, err := l.model.Pick(rows); err != nil {
			return timed{}, err
		}
	}
	return timed{all: time.Since(start)}, nil
}
