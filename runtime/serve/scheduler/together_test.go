package scheduler

import (
	"errors"
	"testing"
	"time"

	"mla/runtime/device"
	"mla/runtime/plan"
)

// submitted returns a scheduler with a model of its own and some requests.
func submitted(t *testing.T, cfg device.Config, clients ...*client) (*Scheduler, *watched) {
	t.Helper()
	m, r := watchedModel(t, cfg)
	s, err := New(m, Config{PromptRows: 64, Ahead: 2, Now: func() time.Time { return time.Time{} }})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range clients {
		c.submit(t, s)
	}
	return s, r
}

// several returns requests that differ in every parameter that a device knows.
func several(t *testing.T) []*client {
	clients := []*client{greedy(t, text(3, 4), 30), greedy(t, text(9, 70), 50), greedy(t, text(5, 20), 80)}
	for i, c := range clients {
		c.params.Temperature, c.params.Seed, c.params.LogitBias = float32(i), uint64(i), map[int32]float32{2: float32(i)}
	}
	return clients
}

// TestTogether checks that the device continues all decoding requests by itself until one ends, and then the
// rest. The texts are the same as alone.
func TestTogether(t *testing.T) {
	cfg := device.Config{Context: 256, Tables: 3, Pages: 12, Width: 16}
	clients := several(t)
	s, r := submitted(t, cfg, clients...)
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	for i, c := range clients {
		if err := c.check(t, cfg); err != nil {
			t.Errorf("request %d: %v", i, err)
		}
	}
	// The first tokens come from rounds, one of which has all prompts' last rows, and so does the
	// first token after each end. The last request is alone from its 50th token on.
	if r.Ahead < 79-8 || r.begins != 3 || s.ahead.Ahead != nil {
		t.Errorf("%d steps ahead, begun %d times", r.Ahead, r.begins)
	}
	if got := s.Stats().Steps; got.Decode != 29+49+79 {
		t.Errorf("%+v", got)
	}
}

// TestTogetherMany checks that each of many batched requests has the text that it has alone. The device continues by
// itself with up to as many requests as a batch has rows. More requests take two replays a step, started by the host.
func TestTogetherMany(t *testing.T) {
	const tokens = 12
	for _, c := range []struct {
		batch, requests int
		ahead           bool
	}{
		{plan.DefaultBatch, 16, true}, {plan.DefaultBatch, 17, false},
		{plan.LargestBatch, 17, true}, {plan.LargestBatch, 31, true}, {plan.LargestBatch, 32, true}, {plan.LargestBatch, 33, false},
	} {
		cfg := device.Config{Context: 64, Tables: c.requests, Pages: c.requests, Width: 64}
		clients := make([]*client, c.requests)
		for i := range clients {
			clients[i] = greedy(t, text(int32(i), 1), tokens)
			clients[i].params.Temperature, clients[i].params.Seed = 1, uint64(i)
		}
		s, r := submitted(t, cfg, clients...)
		r.Batch = c.batch
		if err := s.Run(); err != nil {
			t.Fatal(err)
		}
		for i, own := range clients {
			if err := own.check(t, cfg); err != nil {
				t.Errorf("request %d of %d: %v", i, c.requests, err)
			}
		}
		if c.ahead != (r.Ahead > 0) || c.ahead && r.Ahead < tokens-4 {
			t.Errorf("%d requests, batches of %d rows: %d steps ahead", c.requests, c.batch, r.Ahead)
		}
	}
}

// TestTogetherJoined checks that a request which comes during a step waits for no further step.
func TestTogetherJoined(t *testing.T) {
	cfg := device.Config{Context: 256, Tables: 4, Pages: 16, Width: 16}
	clients := several(t)
	s, r := submitted(t, cfg, clients...)
	for r.Ahead < 10 {
		if _, err := s.Step(); err != nil {
			t.Fatal(err)
		}
	}
	late := greedy(t, []int32{1, 2, 3}, 10)
	late.submit(t, s)
	for range 2 { // the one under way, and its prompt's
		if _, err := s.Step(); err != nil {
			t.Fatal(err)
		}
	}
	if len(late.emitted) != 1 || r.Ahead > 11 {
		t.Errorf("%d tokens of who came late; %d steps ahead", len(late.emitted), r.Ahead)
	}
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	for i, c := range append(clients, late) {
		if err := c.check(t, cfg); err != nil {
			t.Errorf("request %d: %v", i, err)
		}
	}
}

// TestTogetherQueued checks that the device also continues by itself while other requests wait for a session.
func TestTogetherQueued(t *testing.T) {
	cfg := device.Config{Context: 256, Tables: 2, Pages: 12, Width: 16}
	clients := several(t)
	s, r := submitted(t, cfg, clients...)
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	for i, c := range clients {
		if err := c.check(t, cfg); err != nil {
			t.Errorf("request %d: %v", i, err)
		}
	}
	if r.Ahead < 29+20-8 {
		t.Errorf("%d steps ahead", r.Ahead)
	}
}

// TestTogetherAlone checks that the device does not continue by itself with a sampler whose next pick depends
// on the token before, with one that only the host has, or with one that watches the text.
func TestTogetherAlone(t *testing.T) {
	for name, change := range map[string]func(*client){
		"penalties": func(c *client) { c.params.FrequencyPenalty, c.params.RepeatLastN = 0.5, 64 },
		"the host":  func(c *client) { c.onHost = true },
	} {
		clients := several(t)
		change(clients[1])
		s, r := submitted(t, device.Config{Context: 256, Tables: 2, Pages: 12, Width: 16}, clients[:2]...)
		if err := s.Run(); err != nil || r.Ahead > 0 {
			t.Errorf("%s: %v; %d steps ahead", name, err, r.Ahead)
		}
	}
}

// TestTogetherFails checks that a device which fails during a step ends all requests, and that a scheduler
// whose requests were all cancelled runs the next ones.
func TestTogetherFails(t *testing.T) {
	cfg := device.Config{Context: 256, Tables: 4, Pages: 16, Width: 16}
	for _, fails := range []bool{true, false} {
		clients := several(t)
		if !fails {
			for _, c := range clients {
				c.cancelAt = 15
			}
		}
		s, r := submitted(t, cfg, clients...)
		for r.Ahead < 5 {
			if _, err := s.Step(); err != nil {
				t.Fatal(err)
			}
		}
		lost := errors.New("lost")
		if fails {
			r.Fail = lost
		}
		err := s.Run()
		if fails {
			for i, c := range clients {
				if !errors.Is(err, lost) || !errors.Is(c.err, lost) || c.ended != 1 {
					t.Errorf("%v; request %d ended %d times with %v", err, i, c.ended, c.err)
				}
			}
			continue
		}
		next := greedy(t, text(7, 30), 20)
		next.submit(t, s)
		if err := errors.Join(err, s.Run(), next.check(t, cfg)); err != nil {
			t.Error(err)
		}
		for i, c := range clients {
			if err := c.check(t, cfg); err != nil {
				t.Errorf("request %d: %v", i, err)
			}
		}
	}
}

// TestLearn checks that the next step is requested a lead time before the running step ends, for steps of any
// length, and that the estimate follows when steps become shorter.
func TestLearn(t *testing.T) {
	var g ahead
	for _, step := range []time.Duration{2 * time.Millisecond, 30 * time.Millisecond, 1500 * time.Microsecond, 100 * time.Microsecond} {
		for range 40 {
			g.learn(max(0, step-g.wait), max(step, g.wait))
		}
		if ahead := step - g.wait; ahead < min(step, lead/2) || ahead > max(2*lead, step/20) {
			t.Errorf("steps of %v: the next is asked for %v before the end", step, ahead)
		}
	}
}
