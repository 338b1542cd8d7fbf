package scheduler

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mla/runtime/device"
	"mla/runtime/engine"
	"mla/runtime/plan"
	"mla/runtime/text/sample"
)

// greedy returns a client that continues a prompt with the most likely tokens.
func greedy(t testing.TB, prompt []int32, n int) *client {
	t.Helper()
	return &client{prompt: prompt, params: sample.Off(), max: n, stop: -1}
}

func text(first int32, n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = (first + int32(i*i/5)) % vocab
	}
	return out
}

func run(t *testing.T, cfg device.Config, promptRows int, clients ...*client) *engine.Model {
	t.Helper()
	m, _ := newModel(t, cfg)
	s, err := New(m, Config{PromptRows: promptRows})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range clients {
		c.submit(t, s)
	}
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	for i, c := range clients {
		if err := c.check(t, cfg); err != nil {
			t.Errorf("client %d: %v", i, err)
		}
	}
	return m
}

// TestFirstToken checks that the time to the first token begins when the request is submitted, so that it
// includes waiting for others.
func TestFirstToken(t *testing.T) {
	const replay = 2 * time.Millisecond
	m, runner := newModel(t, device.Config{Context: 600, Tables: 1})
	runner.After = func() { time.Sleep(replay) }
	s, err := New(m, Config{})
	if err != nil {
		t.Fatal(err)
	}
	first, second := greedy(t, text(3, 4), 5), greedy(t, text(9, 2), 3)
	first.submit(t, s)
	second.submit(t, s)
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	// The first runs 4 + 4 rows; its own first token needs 4 of them.
	if a, b := first.result.FirstToken, second.result.FirstToken; a < 4*replay || b < 10*replay || a > b {
		t.Errorf("first tokens after %v and %v", a, b)
	}
}

// TestWait checks that between two tokens of a decoding request at most one row of each other request and
// PromptRows rows of prompts run.
func TestWait(t *testing.T) {
	for _, promptRows := range []int{1, 5, 16} {
		m, runner := newModel(t, device.Config{Context: 600, Tables: 6, Pages: 60})
		// By a clock that stands still no step takes too long, so that none is made smaller.
		s, err := New(m, Config{PromptRows: promptRows, Now: func() time.Time { return time.Time{} }})
		if err != nil {
			t.Fatal(err)
		}
		const decoders, prompts = 3, 2
		last, worst := map[int]int{}, 0
		for i := range decoders {
			c := greedy(t, text(int32(i), 3+i), 200)
			err := s.Submit(context.Background(), Request{
				Continuation: Continuation{
					Prompt: c.prompt,
					Max:    c.max,
					Done:   func(engine.Result, error) {},
				},
				Sampler: c.request(t).Sampler,
				Emit: func(int32) bool {
					if at, ok := last[i]; ok {
						worst = max(worst, runner.Replays-at-1)
					}
					last[i] = runner.Replays
					return true
				},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for i := range prompts {
			greedy(t, text(int32(i), 500), 0).submit(t, s)
		}
		if err := s.Run(); err != nil {
			t.Fatal(err)
		}
		if bound := promptRows + decoders - 1; worst != bound {
			t.Errorf("%d rows of prompts: a request waited for %d rows; want %d", promptRows, worst, bound)
		}
	}
}

// TestFair checks that requests of the same length which begin at the same time end at the same time.
func TestFair(t *testing.T) {
	m, _ := newModel(t, device.Config{Context: 200, Tables: 4, Pages: 16})
	s, err := New(m, Config{PromptRows: 4})
	if err != nil {
		t.Fatal(err)
	}
	var clients []*client
	for i := range 4 {
		c := greedy(t, text(int32(i), 20), 40)
		c.submit(t, s)
		clients = append(clients, c)
	}
	for more := true; more; {
		if more, err = s.Step(); err != nil {
			t.Fatal(err)
		}
		least, most := 1000, 0
		for _, c := range clients {
			least, most = min(least, len(c.emitted)), max(most, len(c.emitted))
		}
		// 4 prompts of 5 pieces take 20 rounds.
		if most-least > 21 {
			t.Fatalf("one request has %d tokens, another %d", most, least)
		}
	}
}

// TestPromptsTakeTurns checks that of two long prompts which begin at the same time none waits for the end of
// the other.
func TestPromptsTakeTurns(t *testing.T) {
	m, _ := newModel(t, device.Config{Context: 600, Tables: 2, Pages: 20})
	s, err := New(m, Config{PromptRows: 10})
	if err != nil {
		t.Fatal(err)
	}
	a, b := greedy(t, text(0, 500), 0), greedy(t, text(1, 500), 0)
	a.submit(t, s)
	b.submit(t, s)
	for i := range 500 {
		if _, err := s.Step(); err != nil {
			t.Fatal(err)
		}
		if x, y := s.active[0].done(), s.active[1].done(); x+y != i+1 || x-y > 10 || y > x {
			t.Fatalf("after %d rows one prompt is at %d, the other at %d", i+1, x, y)
		}
	}
}

// TestGivesBackAndFinds checks that a request which gave its pages back finds them all again, so that it runs
// only its last row again.
func TestGivesBackAndFinds(t *testing.T) {
	long, short := greedy(t, text(1, plan.PageRows), -1), greedy(t, text(1, plan.PageRows), 100)
	run(t, device.Config{Context: 256, Tables: 2, Pages: 3}, 0, long, short)
	var out *engine.OutOfPages
	if !errors.As(long.err, &out) || short.err != nil || len(short.result.Tokens) != 100 {
		t.Errorf("%v; %v", long.err, short.err)
	}
}

// TestSharedPrompt checks that simultaneous requests with the same prompt run it once.
func TestSharedPrompt(t *testing.T) {
	prompt := text(3, 300)
	var clients []*client
	for i := range 4 {
		clients = append(clients, greedy(t, slices.Concat(prompt, []int32{int32(i)}), 5))
	}
	m := run(t, device.Config{Context: 320, Tables: 4, Pages: 9}, 7, clients...)
	shared := 300 / plan.PageRows * plan.PageRows
	for i, c := range clients {
		if want := min(i, 1) * shared; c.result.Reused != want || c.result.Prompt.Tokens != 301-want {
			t.Errorf("client %d: %d tokens reused, %d run; want %d reused", i, c.result.Reused, c.result.Prompt.Tokens, want)
		}
	}
	if got := m.Pages(); got.Evicted != 0 {
		t.Errorf("%+v", got)
	}
}

// TestOutOfPagesAlone checks that a request which needs more pages than the pool has fails, and that later
// requests run.
func TestOutOfPagesAlone(t *testing.T) {
	long, short := greedy(t, text(1, 150), -1), greedy(t, text(2, 10), 5)
	run(t, device.Config{Context: 256, Tables: 2, Pages: 2}, 0, long, short)
	var out *engine.OutOfPages
	if !errors.As(long.err, &out) || short.err != nil || len(short.result.Tokens) != 5 {
		t.Errorf("%v; %v", long.err, short.err)
	}
}

func TestSubmitRefuses(t *testing.T) {
	m, _ := newModel(t, device.Config{Context: 8})
	s, err := New(m, Config{})
	if err != nil {
		t.Fatal(err)
	}
	sampler := greedy(t, nil, 0).request(t).Sampler
	done := func(engine.Result, error) { t.Error("Done was called") }
	for _, r := range []Request{
		{Continuation: Continuation{Done: done}, Sampler: sampler},
		{Continuation: Continuation{Prompt: []int32{vocab}, Done: done}, Sampler: sampler},
		{Continuation: Continuation{Prompt: []int32{-1}, Done: done}, Sampler: sampler},
		{Continuation: Continuation{Prompt: make([]int32, 9), Done: done}, Sampler: sampler},
		{Continuation: Continuation{Prompt: []int32{1}, Done: done}},
		{Continuation: Continuation{Prompt: []int32{1}}, Sampler: sampler},
	} {
		if err := s.Submit(context.Background(), r); err == nil {
			t.Errorf("%+v is accepted", r)
		}
	}
	if more, err := s.Step(); more || err != nil {
		t.Errorf("%v, %v", more, err)
	}
	if _, err := New(m, Config{PromptRows: -1}); err == nil {
		t.Error("-1 rows are accepted")
	}
}

// TestSessionsElsewhere checks a scheduler that gets no session because another user has them all.
func TestSessionsElsewhere(t *testing.T) {
	m, _ := newModel(t, device.Config{Context: 64})
	other, err := m.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(m, Config{})
	if err != nil {
		t.Fatal(err)
	}
	c, again := greedy(t, []int32{1}, 3), greedy(t, []int32{1}, 3)
	c.submit(t, s)
	var many *engine.SessionsError
	if err := s.Run(); err != nil || c.ended != 1 || !errors.As(c.err, &many) {
		t.Errorf("%v; %+v", err, c)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	again.submit(t, s)
	if err := s.Run(); err != nil || again.err != nil {
		t.Errorf("%v; %v", err, again.err)
	}
}

// TestDeviceFails checks that all requests fail after a failure of the device: running, waiting and later
// ones.
func TestDeviceFails(t *testing.T) {
	m, runner := newModel(t, device.Config{Context: 64, Tables: 2, Pages: 2})
	s, err := New(m, Config{})
	if err != nil {
		t.Fatal(err)
	}
	clients := []*client{greedy(t, text(0, 5), 20), greedy(t, text(1, 5), 20), greedy(t, text(2, 5), 20)}
	for _, c := range clients {
		c.submit(t, s)
	}
	for range 15 {
		if _, err := s.Step(); err != nil {
			t.Fatal(err)
		}
	}
	lost := errors.New("lost")
	runner.Fail = lost
	if more, err := s.Step(); more || !errors.Is(err, lost) {
		t.Errorf("%v, %v", more, err)
	}
	runner.Fail = nil
	late := greedy(t, text(3, 5), 20)
	late.submit(t, s)
	if err := s.Run(); !errors.Is(err, lost) {
		t.Error(err)
	}
	for i, c := range append(clients, late) {
		if c.ended != 1 || !errors.Is(c.err, lost) || c.result.Reason != engine.ReasonError {
			t.Errorf("client %d: ended %d times, %v, %+v", i, c.ended, c.err, c.result)
		}
	}
}

// TestNoToken checks logits that allow no token.
func TestNoToken(t *testing.T) {
	m, runner := newModel(t, device.Config{Context: 64})
	runner.Logits = func(_ plan.Row, _ uint64, out []float32) {
		for i := range out {
			out[i] = float32(math.Inf(-1))
		}
	}
	s, err := New(m, Config{})
	if err != nil {
		t.Fatal(err)
	}
	c := greedy(t, text(0, 5), 20)
	c.submit(t, s)
	var mute *engine.NoTokenError
	if err := s.Run(); err != nil || !errors.As(c.err, &mute) || mute.Position != 4 {
		t.Errorf("%v; %v", err, c.err)
	}
}

// TestConcurrentSubmit submits requests while steps run, and cancels some of them.
func TestConcurrentSubmit(t *testing.T) {
	cfg := device.Config{Context: 128, Tables: 3, Pages: 6}
	m, _ := newModel(t, cfg)
	s, err := New(m, Config{})
	if err != nil {
		t.Fatal(err)
	}
	const submitters, each = 4, 10
	var wrong sync.Map
	ended := make(chan int, submitters*each)
	for i := range submitters {
		go func() {
			for j := range each {
				c := greedy(t, text(int32(i+j), 20+j), 10)
				want, err := c.alone(t, cfg.Context)
				if err != nil {
					wrong.Store(err.Error(), true)
				}
				ctx, cancel := context.WithCancel(context.Background())
				done := func(res engine.Result, err error) {
					if err == nil && !slices.Equal(res.Tokens, want.Tokens) || err != nil && !errors.Is(err, context.Canceled) {
						wrong.Store(fmt.Sprint(res.Tokens, want.Tokens, err), true)
					}
					ended <- i
				}
				if err := s.Submit(ctx, Request{Continuation: Continuation{Prompt: c.prompt, Max: c.max, Done: done}, Sampler: c.request(t).Sampler}); err != nil {
					wrong.Store(err.Error(), true)
				}
				if j%3 == 0 {
					cancel()
				}
				defer cancel()
			}
		}()
	}
	for len(ended) < submitters*each {
		if err := s.Run(); err != nil {
			t.Fatal(err)
		}
	}
	wrong.Range(func(what, _ any) bool {
		t.Error(strings.TrimSpace(fmt.Sprint(what)))
		return true
	})
}
