// Package scheduler runs many concurrent requests on one loaded model: continuous batching. A request joins
// between two steps, and leaves as soon as it ends. A step is a list of rows, at most as many as the model's
// width: the next tokens of decoding requests, and pieces of the prompts of others.
//
// Rows are assigned in rounds. In a round, every decoding request gets one row, in the order in which the
// requests joined. Then prompts get Config.PromptRows rows in total, or fewer if a step with that many takes
// more than twice as long as one without. So a decoding request waits at most for one row of every other one
// and for PromptRows rows of prompts, however long the prompts are. While no request decodes, prompts get as
// many rows as run within a quarter of a second. Prompts take turns piece by piece. But a request whose next
// page another request is about to fill waits, and reuses that page.
//
// Every request has its own session and sampler, so its text does not depend on other requests, except that
// logits of several rows are rounded differently from those of one. With a width of 1 the text is identical.
//
// # When pages run out
//
// A request that gets no page waits, and no further request joins. Once all requests wait, the one that
// joined last releases its pages, and runs its tokens again later, after another request has ended; tokens
// that it has emitted stay. A single request that gets no page fails with *engine.OutOfPages.
//
// # Steps ahead
//
// If all requests decode, a GPU runs ahead of the host (ahead.go), until a request ends, drafts, joins, or
// needs a page that is not free. For a single request the GPU runs units of several steps. For several
// requests it runs one step while the host handles the one before. The next step is asked for shortly before
// the current one ends, so a new request waits for at most one step.
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

// DefaultPromptRows is the default of Config.PromptRows.
const DefaultPromptRows = 16

// Config is how requests share the model.
type Config struct {
	PromptRows int // most rows of prompts that a decoding request waits for; 0: the default
	// Ahead is how many tokens of a single request a device picks and runs as one unit of work, if it can,
	// while the next unit is queued. For several requests it runs one step while the next is queued. 0: the
	// host takes part in every token. A new request waits for the steps in flight.
	Ahead int
	// Now is the clock that measures steps; nil: time.Now. The number of rows in a batch and the use of
	// drafts depend on it, so a deterministic clock makes schedules reproducible.
	Now func() time.Time
}

// Continuation is a prompt to continue, with its limits: the part of a request that does not depend on how
// its tokens become text.
type Continuation struct {
	Prompt []int32
	// Scope is the scope of requests with which this one shares pages. Clients that must not learn about each
	// other's prompts need different scopes.
	Scope string
	Max   int                    // tokens to generate; negative: until the context is full
	Stop  func(token int32) bool // ends the text; may be nil
	// Prompted is called after every step that has run tokens of the prompt, with the number of finished
	// tokens, how many of these were reused, and the time since the prompt began; it may be nil.
	Prompted func(done, reused int, elapsed time.Duration)
	// Done is called once, when the request has ended. err is the context's error after a cancellation,
	// *engine.OutOfPages, *engine.NoTokenError, or the device's error.
	Done func(res engine.Result, err error)
}

// Request is a continuation with its sampler. The goroutine that calls Step calls its functions; they must
// not call Step.
type Request struct {
	Continuation
	Sampler engine.Sampler
	Emit    func(token int32) bool // gets every token, and returns false to end the text; may be nil
	// Draft makes a drafter for a session of the request; nil: no drafts. A Sampler that is Watching, or not
	// Portable, gets no drafts. The text is the same with and without drafts.
	Draft func(*engine.Session) (engine.Drafter, error)
}

// Scheduler runs requests. Submit is safe for concurrent use. All other methods, and any other use of the
// model, need one goroutine at a time.
type Scheduler struct {
	model      *engine.Model
	width      int // rows of a step
	promptRows int
	unit       int              // Config.Ahead
	now        func() time.Time // clock that measures steps

	mu       sync.Mutex
	incoming []*task // submitted since the last step

	waiting []*task // wait for a session, in the order in which they were submitted
	active  []*task // have a session, in the order in which they joined
	pays    payoff.Steps
	catches engine.CatchingUp
	pace    pace
	turn    round
	ahead   ahead
	last    int   // number of the task whose prompt got the last row
	joined  int   // tasks that have been numbered
	hold    bool  // no request joins until another one ends
	failed  error // error of the device
	steps   Steps
}

// New returns a scheduler of a model. Other sessions of the model use the same pages.
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

// Submit adds a request, which begins when there is a session for it. Cancelling ctx ends it before its next
// row. An error says that the model cannot run the request; then Done is not called.
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

// Step runs the next rows; more is false if no request is left. If the device fails, all requests fail, now
// and later.
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

// round runs the next rows of the current round.
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

// Stats is the numbers of requests.
type Stats struct {
	Active  int // have a session
	Waiting int // wait for a session
	Steps   Steps
}

// Stats counts the requests. Only the goroutine that calls Step may call it.
func (s *Scheduler) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{Active: len(s.active), Waiting: len(s.waiting) + len(s.incoming), Steps: s.steps}
}

// receive moves submitted requests to the waiting ones.
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

// end removes a request from the schedule, and calls its Done.
func (s *Scheduler) end(t *task, reason engine.Reason, err error) {
	is := func(u *task) bool { return u == t }
	s.active, s.waiting = slices.DeleteFunc(s.active, is), slices.DeleteFunc(s.waiting, is)
	s.turn.decode = slices.DeleteFunc(s.turn.decode, is)
	s.hold = false
	s.settle(t)
	t.stop(reason)
	t.Done(t.result, errors.Join(t.close(), err))
}
