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

// DeviceError says that a device has failed for good, as far as this process can tell.
type DeviceError struct {
	Failures int // one after the other, without a request done in between
	Cause    error
}

func (e *DeviceError) Error() string {
	if e.Failures == 1 {
		return fmt.Sprintf("the device failed: %v", e.Cause)
	}
	return fmt.Sprintf("the device failed %d times, one after the other, and did not recover: %v", e.Failures, e.Cause)
}

// Unwrap is the cause.
func (e *DeviceError) Unwrap() error { return e.Cause }

// Stuck says whether the device is still at a step: then its model's memory is in use.
func (e *DeviceError) Stuck() bool {
	var stuck *stuckError
	return errors.As(e.Cause, &stuck)
}

// stuckError says that a step does not end.
type stuckError struct{ limit time.Duration }

func (e *stuckError) Error() string {
	return fmt.Sprintf("a step did not end within %v", e.limit)
}

// givesUp says that loading the model again is of no use.
func (s *Service) givesUp(failures int, err error) bool {
	var stuck *stuckError
	return errors.As(err, &stuck) || errors.Is(err, device.ErrNewProcess) || failures > max(s.cfg.Retries, 0)
}

// giveUp is how Run ends if the device cannot go on.
func (s *Service) giveUp(failures int, cause error) error {
	err := &DeviceError{failures, cause}
	s.become(Broken, err)
	s.cfg.Log.Error("the device failed for good", "error", err)
	return err
}

// stepping is since when a step is under way, in nanoseconds; 0: none is.
type stepping struct{ since atomic.Int64 }

func (s *stepping) begin() { s.since.Store(time.Now().UnixNano()) }
func (s *stepping) end()   { s.since.Store(0) }

// over says whether the step under way has taken longer than a limit.
func (s *stepping) over(limit time.Duration) bool {
	since := s.since.Load()
	return since != 0 && time.Since(time.Unix(0, since)) > limit
}

// watch is serve, which it leaves alone if a step does not end. Then the requests at hand
// fail, and nothing that the device still does reaches them.
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
				s.become(Broken, &DeviceError{1, err}) // no request comes in any more
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
