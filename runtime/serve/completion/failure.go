package completion

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"mla/runtime/device"
	"mla/runtime/engine"
)

// DeviceError says that a device has failed permanently, as far as this process can tell.
type DeviceError struct {
	Failures int // consecutive failures without a completed request
	Cause    error
}

func (e *DeviceError) Error() string {
	if e.Failures == 1 {
		return fmt.Sprintf("the device failed: %v", e.Cause)
	}
	return fmt.Sprintf("the device failed %d times, one after the other, and did not recover: %v", e.Failures, e.Cause)
}

// Unwrap returns the cause.
func (e *DeviceError) Unwrap() error { return e.Cause }

// Stuck says whether a step still runs on the device, so that the model's memory is in use.
func (e *DeviceError) Stuck() bool {
	var stuck *stuckError
	return errors.As(e.Cause, &stuck)
}

// stuckError says that a step does not end.
type stuckError struct{ limit time.Duration }

func (e *stuckError) Error() string {
	return fmt.Sprintf("a step did not end within %v", e.limit)
}

// givesUp says that loading the model again is pointless.
func (s *Service) givesUp(failures int, err error) bool {
	var stuck *stuckError
	return errors.As(err, &stuck) || errors.Is(err, device.ErrNewProcess) || failures > max(s.cfg.Retries, 0)
}

// giveUp ends Run when the device cannot continue.
func (s *Service) giveUp(failures int, cause error) error {
	err := &DeviceError{failures, cause}
	s.become(Broken, err)
	s.cfg.Log.Error("the device failed for good", "error", err)
	return err
}

// stepping is the start of the current step, in nanoseconds; 0: no step is running.
type stepping struct{ since atomic.Int64 }

func (s *stepping) begin() { s.since.Store(time.Now().UnixNano()) }
func (s *stepping) end()   { s.since.Store(0) }

// over says whether the current step has taken longer than a limit.
func (s *stepping) over(limit time.Duration) bool {
	since := s.since.Load()
	return since != 0 && time.Since(time.Unix(0, since)) > limit
}

// watch runs serve, and abandons it if a step does not end. Then the current requests fail, and later results
// of the device do not reach them.
func (s *Service) watch(ctx context.Context, m *engine.Model) error {
	var steps stepping
	ended := make(chan error, 1)
	go func() { ended <- s.serve(ctx, m, &steps) }()
	tick := time.NewTicker(s.cfg.Stuck / 4)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-tick.C:
			if steps.over(s.cfg.Stuck) {
				err := &stuckError{s.cfg.Stuck}
				s.become(Broken, &DeviceError{1, err}) // no request is accepted any more
				s.abandon(err)
				return err
			}
		}
	}
}

// abandon ends all requests in place of the goroutine that runs them.
func (s *Service) abandon(cause error) {
	s.mu.Lock()
	list := make([]*request, 0, len(s.requests))
	for _, r := range s.requests {
		list = append(list, r)
	}
	s.mu.Unlock()
	s.calling.Lock()
	defer s.calling.Unlock()
	s.abandoned = true
	for _, r := range list {
		r.cancel(cause)
		s.finish(r, engine.Result{Reason: engine.ReasonError}, cause)
	}
}
