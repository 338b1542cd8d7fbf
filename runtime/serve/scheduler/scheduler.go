// Package scheduler runs many requests on one loaded model at a time: continuous
// batching. A request joins between two steps and leaves as soon as it ends. A step is a
// list of rows, as many as the model's width at most: tokens that follow decoding
// requests, and pieces of the prompts of others.
//
// Rows are dealt in rounds. In a round, every decoding request gets one row, in the
// order in which they joined, and then prompts get Config.PromptRows in all, or fewer
// where steps with that many take more than twice as long as those without. So a decoding
// request waits for one row of every other one and for PromptRows rows of prompts at most,
// however long these are. While nobody decodes, prompts get as many rows as run within a
// quarter of a second. Prompts take turns, a piece each; but a request whose
// next page another one is about to fill waits for that, and reuses it.
//
// The text of a request does not depend on who else runs, as every request has a session
// and a sampler of its own, but for how many rows run in one batch: logits of several are rounded
// otherwise than those of one. With a width of 1 it is the same to the bit.
//
// # When pages run out
//
// A request that gets no page waits, and no other joins meanwhile. Once all wait, the
// one that joined last gives its pages back and runs its tokens again later, when one of
// the others has ended; what it has emitted stays. A request that is alone and gets no
// page fails with *engine.OutOfPages.
//
// # Steps ahead
//
// With requests that all decode a GPU goes on by itself (ahead.go). That ends when a request ends,
// drafts, needs a page that is not free, or joins. With one request the GPU makes units of several
// steps. With several requests it makes one step while the host is at the one before. The next step
// is asked for shortly before the one under way ends, so a new request waits for one of them at most.
package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"mla/runtime/engine"
	"mla/runtime/engine/payoff"
)

// DefaultPromptRows is Config.PromptRows unless it is given.
const DefaultPromptRows = 16

// Config says how requests share the model.
type Config struct {
	PromptRows int // rows of prompts that a decoding request waits for at most; 0: the default
	// Ahead is how many tokens of a single request a device that can do so picks and runs
	// as one unit of work, while the next unit waits; of several requests it runs one step,
	// while the next step waits. 0: the host takes part in every token. A new request waits
	// for what is in flight.
	Ahead int
	// Now is the clock by which steps take time; nil: time.Now. How many rows run in one batch
	// and whether guesses do follows from it, so with a clock that can be foretold a schedule
	// can be run again.
	Now func() time.Time
}

// Continuation is a prompt to continue, and how far: what a request says whoever makes text of its tokens.
type Continuation struct {
	Prompt []int32
	// Scope is of the requests whose pages this one shares: who must not learn what others
	// have asked has a scope of his own.
	Scope string
	Max   int                    // tokens to generate; negative: until the context is full
	Stop  func(token int32) bool // ends the text; may be nil
	// Prompted is called after every step that has run tokens of the prompt, with how many
	// are done, how many of these were found in the pages, and the time since it began; it may
	// be nil.
	Prompted func(done, reused int, elapsed time.Duration)
	// Done is called once, when the request has ended: err is the context's if it was
	// cancelled, *engine.OutOfPages, *engine.NoTokenError, or the device's.
	Done func(res engine.Result, err error)
}

// Request is a continuation with what picks its tokens. Its functions are called by the
// goroutine that calls Step, which they must not.
type Request struct {
	Continuation
	Sampler engine.Sampler
	Emit    func(token int32) bool // gets every token, and returns false to end the text; may be nil
	// Draft makes what guesses how the text goes on, for a session of the request; nil:
	// nothing is guessed, nor for a Sampler that is not Portable, or is Watching. The text is
	// the same.
	Draft func(*engine.Session) (engine.Drafter, error)
}

// Scheduler runs requests. Submit may be called by any goroutine, at any time; the
// other methods, and whatever else uses the model, by one at a time.
type Scheduler struct {
	model      *engine.Model
	width      int // rows of a step
	promptRows int
	unit       int              // Config.Ahead
	now        func() time.Time // for how long steps take

	mu       sync.Mutex
	incoming []*task // submitted since the last step

	waiting []*task // for a session, those that joined before in front
	active  []*task // have one, in the order in which they joined
	pays    payoff.Steps
	catches engine.CatchingUp
	pace    pace
	turn    round
	ahead   ahead
	last    int   // number of the task whose prompt got the last row
	joined  int   // tasks that have got a number
	hold    bool  // nobody joins until somebody ends
	failed  error // of the device
	steps   Steps
}

// New is a scheduler of a model, whose other sessions take from the same pages.
func New(m *engine.Model, cfg Config) (*Scheduler, error) {
	if cfg.PromptRows < 0 {
		return nil, fmt.Errorf("%d rows of prompts between decoded tokens; expected 1 or more", cfg.PromptRows)
	}
	if cfg.PromptRows == 0 {
		cfg.PromptRows = DefaultPromptRows
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Scheduler{model: m, width: m.Width(), promptRows: cfg.PromptRows, unit: cfg.Ahead, now: cfg.Now}, nil
}

// Submit hands over a request, which begins when there is a session for it. Cancelling
// ctx ends it before its next row. An error says that the model cannot run it; Done is
// not called then.
func (s *Scheduler) Submit(ctx context.Context, r Request) error {
	switch {
	case len(r.Prompt) == 0:
		return errors.New("the prompt is empty: there is nothing to continue")
	case r.Sampler == nil || r.Done == nil:
		return errors.New("a request without Sampler or Done")
	}
	if err := s.model.Allows(r.Prompt); err != nil {
		return err
	}
	t := &task{Request: r, ctx: ctx, text: slices.Clone(r.Prompt), submitted: time.Now()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.incoming = append(s.incoming, t)
	return nil
}

// Run makes steps until all requests have ended.
func (s *Scheduler) Run() error {
	for {
		if more, err := s.Step(); !more || err != nil {
			return err
		}
	}
}

// Step runs the next rows; more is false if no request is left. If the device fails, so
// do all requests, now and later.
func (s *Scheduler) Step() (more bool, err error) {
	s.receive()
	s.cancel()
	if s.ahead.goesOn() {
		s.goOn()
	} else {
		s.endAhead()
		s.round()
	}
	if s.failed != nil {
		s.fail()
		return false, s.failed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.active)+len(s.waiting)+len(s.incoming) > 0, nil
}

// round runs rows, the next ones of the present round.
func (s *Scheduler) round() {
	rows, tasks := s.rows()
	var picked [][]int32
	if len(rows) > 0 && s.failed == nil {
		s.steps.begin(tasks)
		start := time.Now()
		picked, s.failed = s.run(rows, tasks)
		s.steps.Busy += time.Since(start)
	}
	if s.failed != nil {
		return
	}
	for i, t := range tasks {
		if last := i+1 == len(tasks) || tasks[i+1] != t; last && !t.started() && t.Prompted != nil {
			t.Prompted(t.done(), t.result.Reused, time.Since(t.began))
		}
	}
	for i, t := range tasks {
		if last := i+1 == len(tasks) || tasks[i+1] != t; last && t.left() <= 0 {
			s.take(t, picked[i])
		}
	}
	s.goAhead(rows, tasks, picked)
}

// Stats are numbers of requests.
type Stats struct {
	Active  int // have a session
	Waiting int // for one
	Steps   Steps
}

// Stats says where the requests are. It is for the goroutine that calls Step.
func (s *Scheduler) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{Active: len(s.active), Waiting: len(s.waiting) + len(s.incoming), Steps: s.steps}
}

// receive takes in what was submitted.
func (s *Scheduler) receive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.incoming {
		s.joined++
		t.number = s.joined
	}
	s.waiting = append(s.waiting, s.incoming...)
	s.incoming = nil
}

// cancel ends the requests whose context is done.
func (s *Scheduler) cancel() {
	for _, t := range slices.Concat(s.active, s.waiting) {
		if err := t.ctx.Err(); err != nil {
			s.end(t, engine.ReasonCancel, err)
		}
	}
}

// fail ends all requests with the error of the device.
func (s *Scheduler) fail() {
	s.ahead = ahead{}
	for _, t := range slices.Concat(s.active, s.waiting) {
		s.end(t, engine.ReasonError, s.failed)
	}
}

// end takes a request out of the schedule, and tells it.
func (s *Scheduler) end(t *task, reason engine.Reason, err error) {
	is := func(u *task) bool { return u == t }
	s.active, s.waiting = slices.DeleteFunc(s.active, is), slices.DeleteFunc(s.waiting, is)
	s.turn.decode = slices.DeleteFunc(s.turn.decode, is)
	s.hold = false
	s.settle(t)
	t.stop(reason)
	t.Done(t.result, errors.Join(t.close(), err))
}
