package engine

import (
	"context"
	"errors"
	"slices"

	"mla/runtime/plan"
)

const fakeVocab = 16

// fakeRunner is a model that follows every token with the next id. It keeps
// what a cache would: the token that each row was computed from.
type fakeRunner struct {
	rows    []uint32
	replays int
	withOut int // replays with logits
	fail    error
	after   func() // called in every replay
}

func (r *fakeRunner) Replay(s plan.Row, logits bool) ([]float32, error) {
	if r.after != nil {
		r.after()
	}
	if r.fail != nil {
		return nil, r.fail
	}
	if s.NKV != s.Pos+1 || int(s.Pos) > len(r.rows) {
		return nil, errors.New("fake: a gap in the cache")
	}
	r.rows = append(r.rows[:s.Pos], s.Token)
	r.replays++
	if !logits {
		return nil, nil
	}
	r.withOut++
	out := make([]float32, fakeVocab)
	out[(s.Token+1)%fakeVocab] = 1
	return out, nil
}

func (r *fakeRunner) Assign(_, _ int, _ []uint32) error { return nil }
func (r *fakeRunner) CopyRows(_, _ uint32, _ int) error { return nil }
func (r *fakeRunner) Dispatches() int                   { return 42 }
func (r *fakeRunner) Bytes() int64                      { return 1000 }
func (r *fakeRunner) Close() error                      { return nil }

func newFake(context int) (*Session, *fakeRunner) {
	r := &fakeRunner{}
	return &Session{runner: r, vocab: fakeVocab, context: context}, r
}

// greedy takes the best token and counts what it accepted.
type greedy struct{ accepted []int32 }

func (g *greedy) Next(logits []float32) int32 { return int32(slices.Index(logits, slices.Max(logits))) }
func (g *greedy) Accept(t int32)              { g.accepted = append(g.accepted, t) }

// canceller is a context that is cancelled in the n-th replay.
func canceller(r *fakeRunner, n int) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	r.after = func() {
		if n--; n == 0 {
			cancel()
		}
	}
	return ctx
}
