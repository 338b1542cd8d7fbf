// Package completion continues texts for many concurrent clients. A Service owns a loaded model and the
// goroutine that runs it. Clients start requests from any goroutine, and get tokens with their text.
//
// A service accepts as many requests as its model has sessions, and a number of waiting ones; further ones
// fail with *BusyError. A request ends when its context does. If the device fails, all current requests fail
// with the reason, and the model is loaded again; until then new requests fail with *UnavailableError. A
// device that fails repeatedly, or does not return from a step, ends the service with a *DeviceError: only a
// new process may get it to work.
package completion

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"mla/runtime/engine"
	"mla/runtime/engine/paging"
	"mla/runtime/serve/scheduler"
	"mla/runtime/text/tokenizer"
)

// Config is the parameters of a service.
type Config struct {
	// Load brings the model to its device. The service closes it.
	Load      func(ctx context.Context) (*engine.Model, error)
	Tokenizer *tokenizer.Tokenizer
	Queue     int // requests that may wait for a session
	Scheduler scheduler.Config
	// Draft is scheduler.Request.Draft for all requests.
	Draft func(*engine.Session) (engine.Drafter, error)
	// Retry is how long the service waits before it loads the model again after a failure of the device; 0:
	// DefaultRetry. It doubles with every failure until a request is completed.
	Retry time.Duration
	// Retries is how often the model is loaded again, without a completed request in between, before Run
	// gives up; 0: DefaultRetries, negative: never.
	Retries int
	// Stuck is the time after which a step that has not ended counts as a failure of the device; 0:
	// DefaultStuck.
	Stuck time.Duration
	// Prompts keeps the cache rows of prompts in files; nil: nothing is kept.
	Prompts *Prompts
	Log     *slog.Logger
}

// Defaults of Config, and the upper bound of Retry.
const (
	DefaultRetry   = time.Second
	DefaultRetries = 4
	DefaultStuck   = 10 * time.Minute
	DefaultQueue   = 64
	maxRetry       = time.Minute
)

// AheadAlone is a good scheduler.Config.Ahead: a new request waits for at most two units of work.
const AheadAlone = 2

// State is what a service can do at the moment.
type State string

// Values of State.
const (
	Loading State = "loading"
	Ready   State = "ready"
	Failed  State = "failed" // the device has failed; the model will be loaded again
	Broken  State = "broken" // the device has failed permanently: Run has given up
	Closed  State = "closed"
)

// Stats is a service's counts.
type Stats struct {
	State     State
	Cause     error // for Failed and Broken
	Sessions  int   // requests that can run concurrently
	Scheduler scheduler.Stats
	Pages     paging.Stats
	Completed int // requests that ended normally, neither cancelled nor with an error
	Failures  int // of the device
}

// BusyError says that the queue is full.
type BusyError struct {
	Waiting    int
	RetryAfter time.Duration // the expected time until a place is free
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("%d requests are waiting already, as many as may; try again in %v", e.Waiting, e.RetryAfter)
}

// UnavailableError says that there is no model to run a request.
type UnavailableError struct {
	State State
	Cause error
}

func (e *UnavailableError) Error() string {
	switch e.State {
	case Loading:
		return "the model is being loaded"
	case Failed:
		return fmt.Sprintf("the device failed, and the model will be loaded again: %v", e.Cause)
	case Broken:
		return fmt.Sprintf("the server ends: %v", e.Cause)
	}
	return "the server is shutting down"
}

// errClosed ends the current requests when a service is closed.
var errClosed = errors.New("the server is shutting down")

// Service runs requests on one model.
type Service struct {
	cfg  Config
	wake chan struct{}
	last atomic.Int64 // id of the last request

	mu       sync.Mutex
	stats    Stats
	sched    *scheduler.Scheduler
	requests map[int64]*request
	took     time.Duration // mean time of the last requests

	calling   sync.Mutex // held while a request's functions are called
	abandoned bool       // the requests have ended, even if the device still works on them
}

// New returns a service. Run loads its model.
func New(cfg Config) *Service {
	cfg.Retry, cfg.Retries, cfg.Stuck = cmp.Or(cfg.Retry, DefaultRetry), cmp.Or(cfg.Retries, DefaultRetries), cmp.Or(cfg.Stuck, DefaultStuck)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Service{cfg: cfg, wake: make(chan struct{}, 1), stats: Stats{State: Loading}, requests: map[int64]*request{}}
}

// Run loads the model and runs requests until ctx is done; then the current requests end. It returns an error
// if the model cannot be loaded the first time, and a *DeviceError if the device fails permanently.
func (s *Service) Run(ctx context.Context) error {
	defer s.become(Closed, nil)
	pause, failures := s.cfg.Retry, 0
	for loaded := false; ; {
		m, err := s.load(ctx)
		if err != nil && !loaded {
			return err
		}
		if err == nil {
			loaded = true
			before := s.Stats().Completed
			if err = s.watch(ctx, m); s.Stats().Completed > before {
				pause, failures = s.cfg.Retry, 0
			}
			if err == nil {
				return nil
			}
		}
		if failures++; ctx.Err() == nil && s.givesUp(failures, err) {
			return s.giveUp(failures, err)
		}
		s.become(Failed, err)
		s.cfg.Log.Error("the device failed", "error", err, "retry", pause)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		pause = min(2*pause, maxRetry)
		s.become(Loading, nil)
	}
}

// load loads the model, and restores kept prompts.
func (s *Service) load(ctx context.Context) (*engine.Model, error) {
	m, err := s.cfg.Load(ctx)
	if err != nil {
		return nil, err
	}
	if s.cfg.Prompts != nil {
		if err := s.cfg.Prompts.restore(ctx, m, s.cfg.Log); err != nil {
			return nil, errors.Join(err, m.Close())
		}
	}
	return m, nil
}

// become changes the state. Only in state Ready are requests accepted.
func (s *Service) become(state State, cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stats.State == Broken { // it is permanent
		return
	}
	if (state == Failed || state == Broken) && s.stats.State != Failed {
		s.stats.Failures++
	}
	s.stats.State, s.stats.Cause = state, cause
}

// serve runs requests on a loaded model until ctx is done, and closes the model. It returns the device's
// error. steps has the start of the current step.
func (s *Service) serve(ctx context.Context, m *engine.Model, steps *stepping) error {
	sched, err := scheduler.New(m, s.cfg.Scheduler)
	if err != nil {
		return errors.Join(err, m.Close())
	}
	s.mu.Lock()
	s.sched, s.stats.Sessions, s.stats.State, s.stats.Cause = sched, m.Sessions(), Ready, nil
	s.mu.Unlock()
	for {
		steps.begin()
		more, err := sched.Step()
		steps.end()
		s.look(sched, m)
		switch {
		case err != nil:
			s.become(Failed, err)
			_, _ = sched.Step() // requests that came meanwhile fail for the same reason
			s.look(sched, m)
			return errors.Join(err, m.Close())
		case ctx.Err() != nil:
			return s.close(sched, m)
		case !more:
			select {
			case <-s.wake:
			case <-ctx.Done():
			}
		}
	}
}

// close ends the current requests, and keeps their prompts.
func (s *Service) close(sched *scheduler.Scheduler, m *engine.Model) error {
	s.become(Closed, nil)
	s.cancel(errClosed)
	err := sched.Run()
	s.look(sched, m)
	if err == nil {
		err = s.cfg.Prompts.save(m, s.cfg.Log)
	}
	if err = errors.Join(err, m.Close()); err != nil {
		s.cfg.Log.Error("the model was not closed well", "error", err)
	}
	return nil
}

// look copies the counts of the scheduler and the model, which only the goroutine that runs them may read.
func (s *Service) look(sched *scheduler.Scheduler, m *engine.Model) {
	numbers, pages := sched.Stats(), m.Pages()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Scheduler, s.stats.Pages = numbers, pages
}

// cancel ends all requests.
func (s *Service) cancel(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		r.cancel(cause)
	}
}

// Stats returns the current counts.
func (s *Service) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// Tokenizer is the model's.
func (s *Service) Tokenizer() *tokenizer.Tokenizer { return s.cfg.Tokenizer }
