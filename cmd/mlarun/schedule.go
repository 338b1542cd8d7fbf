package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"mla/runtime/doctor/checkup"
	"mla/runtime/engine"
	"mla/runtime/engine/draft"
	"mla/runtime/plan"
	"mla/runtime/serve/completion"
	"mla/runtime/serve/scheduler"
	"mla/runtime/text/sample"
)

// A random schedule has so many requests at a time, of so many tokens; pages are for a third
// of them, so that some have to give theirs back.
const (
	scheduleRequests = 12
	scheduleContext  = 512
	scheduleSeed     = 1
)

// schedule runs a random schedule of requests twice, and wants the same bits both times.
func (x *examination) schedule() error {
	var runs [2]*scheduled
	for i := range runs {
		x.Write(checkup.Now, fmt.Sprintf("run %d", i+1), "")
		var err error
		if runs[i], err = x.runSchedule(scheduleSeed, i*x.flags.steps); err != nil {
			return err
		}
	}
	r := runs[0]
	x.Write(checkup.Note, "", "%d requests, %d of them cancelled; %d tokens, %d of them guessed; %d prompt tokens reused; %d rows of logits",
		r.requests, r.cancelled, r.tokens, r.accepted, r.reused, r.rows)
	if at := r.differs(runs[1]); at >= 0 {
		x.Write(checkup.Fail, "schedule", "the two runs differ from step %d on, of %d and %d", at+1, len(r.sums), len(runs[1].sums))
		return nil
	}
	x.Write(checkup.Pass, "schedule", "%d steps twice: the same tokens and bits of logits", len(r.sums))
	return nil
}

// runSchedule loads the model anew, so that nothing is left of a run before.
func (x *examination) runSchedule(seed uint64, before int) (r *scheduled, err error) {
	most := plan.Pages(scheduleContext)
	l, err := x.flags.loadFor(func(e *engine.Engine) (room, error) {
		context := min(scheduleContext, e.MaxContext())
		return room{context: context, sessions: scheduleRequests, pages: max(scheduleRequests*plan.Pages(context)/3, most)}, nil
	})
	if err != nil {
		return nil, err
	}
	defer closing(l, &err)
	if before == 0 {
		x.Write(checkup.Fact, "schedule", "%s", l.describe())
	}
	ctx, stop := interruptible()
	defer stop()
	r = newScheduled(l.model, l.engine.Bundle().Model.VocabSize, seed)
	return r, r.run(ctx, x.flags.steps, func(done int) { x.count(before+done, 2*x.flags.steps) })
}

// scheduled is a run of a random schedule. All that is random comes from one seed, and the
// scheduler's clock counts its questions, so a run can be repeated.
type scheduled struct {
	model     *engine.Model
	rng       *rand.Rand
	clock     time.Time
	documents [][]int32 // what prompts begin with
	cancels   []context.CancelFunc

	sums []uint64 // of all that was computed until each step
	sum  uint64

	requests, ended, cancelled, tokens, accepted, reused, rows int
	err                                                        error
}

func newScheduled(m *engine.Model, vocab int, seed uint64) *scheduled {
	r := &scheduled{model: m, rng: rand.New(rand.NewPCG(seed, 0)), clock: time.Unix(0, 0)}
	for range 4 {
		d := make([]int32, m.Context())
		for i := range d {
			d[i] = r.rng.Int32N(int32(vocab))
		}
		copy(d[len(d)/3:], d[:len(d)/3]) // so that there is something to guess by
		r.documents = append(r.documents, d)
	}
	return r
}

// run makes so many steps, and then ends what is left.
func (r *scheduled) run(ctx context.Context, steps int, progress func(done int)) error {
	s, err := scheduler.New(r.model, scheduler.Config{Ahead: completion.AheadAlone, Now: func() time.Time {
		r.clock = r.clock.Add(time.Millisecond)
		return r.clock
	}})
	if err != nil {
		return err
	}
	for len(r.sums) < steps && r.err == nil {
		if err := ctx.Err(); err != nil {
			return err
		}
		for r.requests-r.ended == 0 || r.requests-r.ended < scheduleRequests+3 && r.rng.IntN(5) == 0 {
			r.submit(ctx, s)
		}
		if n := len(r.cancels); r.rng.IntN(100) == 0 {
			r.cancels[r.rng.IntN(n)]()
		}
		if _, err := s.Step(); err != nil {
			return err
		}
		r.sums = append(r.sums, r.sum)
		progress(len(r.sums))
	}
	for _, cancel := range r.cancels {
		cancel()
	}
	return errors.Join(r.err, s.Run())
}

// submit hands a random request over.
func (r *scheduled) submit(ctx context.Context, s *scheduler.Scheduler) {
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
	if r.requests/32%2 == 0 && r.rng.IntN(2) == 0 { // the host picks, and sees the logits; behind 32 such requests come 32 that a device may go on with
		q.Sampler = picks
	}
	if r.rng.IntN(2) == 0 {
		q.Draft = func(*engine.Session) (engine.Drafter, error) { return draft.Default, nil }
	}
	r.requests++
	number := uint64(r.requests)
	q.Emit = func(token int32) bool {
		r.tokens++
		r.sum = mix(mix(mix(r.sum, number), uint64(token)), picks.sum)
		return true
	}
	q.Done = func(res engine.Result, err error) {
		r.ended++
		r.accepted, r.reused, r.rows = r.accepted+res.Accepted, r.reused+res.Reused, r.rows+picks.rows
		if errors.Is(err, context.Canceled) && ctx.Err() == nil {
			r.cancelled++
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

// differs is the first step behind which two runs are not the same; -1: none.
func (r *scheduled) differs(other *scheduled) int {
	for i := range max(len(r.sums), len(other.sums)) {
		if i >= len(r.sums) || i >= len(other.sums) || r.sums[i] != other.sums[i] {
			return i
		}
	}
	return -1
}

// watched is a sampler that only the host can be, and that notes the bits of the logits.
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
