package completion_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"mla/runtime/device"
	"mla/runtime/engine"
	"mla/runtime/serve/completion"
	"mla/runtime/serve/completion/completiontest"
)

// until waits until a service has ended, and returns the result of Run.
func until(t *testing.T, ended chan error) error {
	t.Helper()
	select {
	case err := <-ended:
		return err
	case <-time.After(20 * time.Second):
		t.Fatal("the service does not end")
		return nil
	}
}

// failures waits until a device has failed n times.
func failures(t *testing.T, s *completion.Service, n int) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); s.Stats().Failures != n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%+v; expected %d failures", s.Stats(), n)
		}
	}
}

// TestGivesUp checks that a device which fails again and again ends the service, and that the running
// requests end with the reason. A successful request in between restarts the count.
func TestGivesUp(t *testing.T) {
	lost := errors.New("lost")
	gone := fmt.Errorf("%w: %w", lost, device.ErrNewProcess)
	for name, c := range map[string]struct {
		retries, failures, loads int
		broken                   error
	}{"twice again": {2, 3, 3, lost}, "never again": {-1, 1, 1, lost}, "of no use": {2, 1, 1, gone}} {
		t.Run(name, func(t *testing.T) {
			m := model(t, 2, completiontest.Answer{To: "Q:", Text: "ok"})
			s := completion.New(completion.Config{Load: m.Load, Tokenizer: m.Tokenizer, Queue: 4, Retry: time.Millisecond, Retries: c.retries})
			ended := make(chan error, 1)
			go func() { ended <- s.Run(context.Background()) }()
			wait(t, s, completion.Ready)
			if r, done := request(m.Tokenizer, "Q:", -1); s.Start(context.Background(), r) != nil || (<-done).text != "ok" {
				t.Fatal("no answer")
			}
			m.Break(c.broken)
			for i := range c.failures {
				failures(t, s, i)
				wait(t, s, completion.Ready)
				r, done := request(m.Tokenizer, "Q:", -1)
				if err := s.Start(context.Background(), r, r); err != nil {
					t.Fatal(err)
				}
				for range 2 {
					if o := <-done; !errors.Is(o.err, lost) {
						t.Errorf("%+v", o)
					}
				}
			}
			var device *completion.DeviceError
			if err := until(t, ended); !errors.As(err, &device) || device.Failures != c.failures || device.Stuck() || !errors.Is(err, lost) {
				t.Errorf("%v", err)
			}
			if st := s.Stats(); m.Loads() != c.loads || st.State != completion.Broken || st.Failures != c.failures || st.Pages.InUse != 0 {
				t.Errorf("loaded %d times, %+v", m.Loads(), st)
			}
			r, _ := request(m.Tokenizer, "Q:", -1)
			var not *completion.UnavailableError
			if err := s.Start(context.Background(), r); !errors.As(err, &not) || !strings.Contains(err.Error(), "the server ends") {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestRecovers checks that failures with successes between them do not end the service.
func TestRecovers(t *testing.T) {
	m := model(t, 1, completiontest.Answer{To: "Q:", Text: "ok"})
	s := run(t, completion.Config{Load: m.Load, Tokenizer: m.Tokenizer, Retry: time.Millisecond, Retries: 1})
	lost := errors.New("lost")
	for i := range 4 {
		m.Fail(lost)
		for n, want := range []error{lost, nil} {
			failures(t, s, i+n)
			wait(t, s, completion.Ready)
			r, done := request(m.Tokenizer, "Q:", -1)
			if err := s.Start(context.Background(), r); err != nil {
				t.Fatal(err)
			}
			if o := <-done; !errors.Is(o.err, want) {
				t.Errorf("%+v; expected %v", o, want)
			}
		}
	}
}

// TestDoesNotLoadAgain checks that a device which cannot load the model again counts as lost.
func TestDoesNotLoadAgain(t *testing.T) {
	m := model(t, 1)
	lost, loads := errors.New("no such device"), 0
	s := completion.New(completion.Config{Tokenizer: m.Tokenizer, Retry: time.Millisecond, Retries: 3, Load: func(ctx context.Context) (*engine.Model, error) {
		if loads++; loads > 1 {
			return nil, lost
		}
		return m.Load(ctx)
	}})
	ended := make(chan error, 1)
	go func() { ended <- s.Run(context.Background()) }()
	wait(t, s, completion.Ready)
	m.Fail(errors.New("lost"))
	r, done := request(m.Tokenizer, "Q:", -1)
	if err := s.Start(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	<-done
	var device *completion.DeviceError
	if err := until(t, ended); !errors.As(err, &device) || !errors.Is(err, lost) || loads != 4 {
		t.Errorf("%v, loaded %d times", err, loads)
	}
}

// TestStuck checks that a step which does not end fails the running requests, once, and ends the service.
func TestStuck(t *testing.T) {
	m := model(t, 1, completiontest.Answer{To: "Q:", Text: "ok"})
	s := completion.New(completion.Config{Load: m.Load, Tokenizer: m.Tokenizer, Queue: 4, Stuck: 300 * time.Millisecond})
	ended := make(chan error, 1)
	go func() { ended <- s.Run(context.Background()) }()
	wait(t, s, completion.Ready)
	time.Sleep(500 * time.Millisecond) // without requests there is no step
	release := make(chan struct{})
	m.Hang(release)
	r, done := request(m.Tokenizer, "Q:", -1)
	dones := make(chan error, 10)
	before := r.Done
	r.Done = func(res engine.Result, err error) { dones <- err; before(res, err) }
	if err := s.Start(context.Background(), r, r); err != nil { // the second one waits for a session
		t.Fatal(err)
	}
	for range 2 {
		if o := <-done; o.err == nil || !strings.Contains(o.err.Error(), "did not end within 300ms") || o.result.Reason != engine.ReasonError {
			t.Errorf("%+v", o)
		}
	}
	var device *completion.DeviceError
	if err := until(t, ended); !errors.As(err, &device) || !device.Stuck() {
		t.Errorf("%v", err)
	}
	close(release) // what the device still does reaches nobody
	time.Sleep(50 * time.Millisecond)
	if len(dones) != 2 || len(s.Requests()) != 0 {
		t.Errorf("%d ends of 2 requests, %d left", len(dones), len(s.Requests()))
	}
}
