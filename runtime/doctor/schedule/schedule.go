// Package schedule runs random requests on a model, so that two runs can be compared.
package schedule

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"mla/runtime/engine"
	"mla/runtime/engine/draft"
	"mla/runtime/serve/scheduler"
	"mla/runtime/text/sample"
)

// Requests is the greatest number of concurrent requests.
const Requests = 12

// ahead is how many tokens a unit of work has if there is one request.
const ahead = 2

// Run is a run of a random schedule. All random numbers come from one seed, and the scheduler's clock counts
// its calls, so a run can be repeated.
type Run struct {
	model     *engine.Model
	rng       *rand.Rand
	clock     time.Time
	documents [][]int32 // the beginnings of prompts
	cancels   []context.CancelFunc

	Sums []uint64 // checksums of all results up to each step
	sum  uint64

	// The counts of what was done.
	Requests, Cancelled, Tokens, Accepted, Reused, Rows int
	ended                                               int
	err                                                 error
}

// New returns a schedule with a seed on a model with a vocabulary.
func New(m *engine.Model, vocab int, seed uint64) *Run {
	r := &Run{model: m, rng: rand.New(rand.NewPCG(seed, 0)), clock: time.Unix(0, 0)}
	for range 4 {
		d := make([]int32, m.Context())
		for i := range d {
			d[i] = r.rng.Int32N(int32(vocab))
		}
		copy(d[len(d)/3:], d[:len(d)/3]) // repeated text, so that drafts find a continuation
		r.documents = append(r.documents, d)
	}
	return r
}

// Do runs a number of steps, and then ends the remaining requests.
func (r *Run) Do(ctx context.Context, steps int, progress func(done int)) error {
	s, err := scheduler.New(r.model, scheduler.Config{Ahead: ahead, Now: func() time.Time {
		r.clock = r.clock.Add(time.Millisecond)
		return r.clock
	}})
	if err != nil {
		return err
	}
	for len(r.Sums) < steps && r.err == nil {
		if err := ctx.Err(); err != nil {
			return err
		}
		for r.Requests-r.ended == 0 || r.Requests-r.ended < Requests+3 && r.rng.IntN(5) == 0 {
			r.submit(ctx, s)
		}
		if n := len(r.cancels); r.rng.IntN(100) == 0 {
			r.cancels[r.rng.IntN(n)]()
		}
		if _, err := s.Step(); err != nil {
			return err
		}
		r.Sums = append(r.Sums, r.sum)
		progress(len(r.Sums))
	}
	for _, cancel := range r.cancels {
		cancel()
	}
	return errors.Join(r.err, s.Run())
}

// submit submits a random request.
func (r *Run) submit(ctx context.Context, s *scheduler.Scheduler) {
	from := r.documents[r.rng.IntN(len(r.documents))]
	prompt := slices.Clone(from[:1+r.rng.IntN(len(from)/2)])
	prompt[len(prompt)-1] = from[r.rng.IntN(len(from))]
	params := sample.Off()
	params.Seed, params.Temperature = r.rng.Uint64(), float32(r.rng.IntN(2))
	own, err := sample.New(params)
	if err != nil {
		r.err = err
		return
	}
	picks := &watched{Sampler: own}
	q := scheduler.Request{Continuation: scheduler.Continuation{Prompt: prompt, Max: 1 + r.rng.IntN(120)}, Sampler: own}
	if r.Requests/32%2 == 0 && r.rng.IntN(2) == 0 { // the host picks and sees the logits; after 32 such requests come 32 with which a device may continue
		q.Sampler = picks
	}
	if r.rng.IntN(2) == 0 {
		q.Draft = func(*engine.Session) (engine.Drafter, error) { return draft.Default, nil }
	}
	r.Requests++
	number := uint64(r.Requests)
	q.Emit = func(token int32) bool {
		r.Tokens++
		r.sum = mix(mix(mix(r.sum, number), uint64(token)), picks.sum)
		return true
	}
	q.Done = func(res engine.Result, err error) {
		r.ended++
		r.Accepted, r.Reused, r.Rows = r.Accepted+res.Accepted, r.Reused+res.Reused, r.Rows+picks.rows
		if errors.Is(err, context.Canceled) && ctx.Err() == nil {
			r.Cancelled++
			err = nil
		}
		r.err = errors.Join(r.err, err)
	}
	until, cancel := context.WithCancel(ctx)
	r.cancels = append(r.cancels, cancel)
	if err := s.Submit(until, q); err != nil {
		r.err = err
	}
}

// Differs returns the first step after which two runs differ; -1: none.
func (r *Run) Differs(other *Run) int {
	for i := range max(len(r.Sums), len(other.Sums)) {
		if i >= len(r.Sums) || i >= len(other.Sums) || r.Sums[i] != other.Sums[i] {
			return i
		}
	}
	return -1
}

// watched is a sampler that only the host can run, and that records the bits of the logits.
type watched struct {
	engine.Sampler
	sum  uint64
	rows int
}

func (w *watched) Next(logits []float32) int32 {
	for _, v := range logits {
		w.sum = mix(w.sum, uint64(math.Float32bits(v)))
	}
	w.rows++
	return w.Sampler.Next(logits)
}

// mix adds a number to a hash.
func mix(sum, n uint64) uint64 { return (sum ^ n) * 0x100000001b3 }
