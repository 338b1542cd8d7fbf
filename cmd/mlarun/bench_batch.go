package main

import (
	"context"
	"errors"
	"time"

	"mla/runtime/engine"
)

// runBatch runs the tokens behind depth in n sessions side by side, one of each at a time.
// What is in the caches of the others before does not matter for the speed.
func (l *loaded) runBatch(ctx context.Context, n, depth int, tokens []int32) (took timed, err error) {
	rows := []engine.Row{{Session: l.Session, Logits: true}}
	for len(rows) < n {
		s, err := l.model.NewPrivateSession()
		if err != nil {
			return timed{}, err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		if err := s.Pretend(tokens[:depth]); err != nil {
			return timed{}, err
		}
		rows = append(rows, engine.Row{Session: s, Logits: true})
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
		if err := l.model.Step(rows, func(int, [][]float32) {}); err != nil {
			return timed{}, err
		}
	}
	return timed{all: time.Since(start)}, nil
}
