package engine

import (
	"context"
	"slices"

	"mla/runtime/device"
	"mla/runtime/doctor/fake"
)

const fakeVocab = 16

// newFake returns the only session of a fake model.
func newFake(context int) (*Session, *fake.Runner) {
	r := fake.New(fakeVocab, device.Config{Context: context})
	return only(r, context), r
}

// only returns the session of a runner that has one block table.
func only(r device.Runner, context int) *Session {
	m, err := NewModel(r, fakeVocab, device.Config{Context: context})
	if err != nil {
		panic(err)
	}
	s, err := m.NewSession()
	if err != nil {
		panic(err)
	}
	return s
}

// greedy takes the best token and counts what it accepted.
type greedy struct{ accepted []int32 }

func (g *greedy) Next(logits []float32) int32 { return int32(slices.Index(logits, slices.Max(logits))) }
func (g *greedy) Accept(t int32)              { g.accepted = append(g.accepted, t) }

// canceller returns a context that is cancelled in the n-th replay.
func canceller(r *fake.Runner, n int) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	r.After = func() {
		if n--; n == 0 {
			cancel()
		}
	}
	return ctx
}
