package engine

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

func TestGenerate(t *testing.T) {
	never := func(int32) bool { return true }
	tests := []struct {
		name     string
		context  int
		req      Request
		emit     func(int32) bool
		want     []int32
		reason   Reason
		timeline int
	}{
		{"length", 16, Request{Max: 3}, never, []int32{3, 4, 5}, ReasonLength, 4},
		{"none", 16, Request{Max: 0}, never, nil, ReasonLength, 2},
		{"context", 4, Request{Max: -1}, never, []int32{3, 4, 5}, ReasonContext, 4},
		{"context, exactly", 4, Request{Max: 3}, never, []int32{3, 4, 5}, ReasonLength, 4},
		{"stop token", 16, Request{Max: -1, Stop: func(t int32) bool { return t == 5 }}, never, []int32{3, 4}, ReasonStop, 4},
		{"receiver", 16, Request{Max: -1}, func(t int32) bool { return t != 4 }, []int32{3, 4}, ReasonStop, 3},
	}
	for _, tt := range tests {
		s, _ := newFake(tt.context)
		sampler := &greedy{}
		tt.req.Prompt, tt.req.Sampler = []int32{1, 2}, sampler
		var emitted []int32
		res, err := s.Generate(context.Background(), tt.req, func(id int32) bool {
			emitted = append(emitted, id)
			return tt.emit(id)
		})
		if err != nil || !slices.Equal(res.Tokens, tt.want) || !slices.Equal(emitted, tt.want) || res.Reason != tt.reason {
			t.Errorf("%s: %+v, emitted %d, %v; want %d, %s", tt.name, res, emitted, err, tt.want, tt.reason)
		}
		if len(s.Tokens()) != tt.timeline || res.Prompt.Tokens != 2 || res.Decode.Tokens != tt.timeline-2 {
			t.Errorf("%s: timeline %d, prompt %d, decode %d", tt.name, s.Tokens(), res.Prompt.Tokens, res.Decode.Tokens)
		}
		if want := append([]int32{1, 2}, tt.want...); !slices.Equal(sampler.accepted, want) {
			t.Errorf("%s: sampler was told %d; want %d", tt.name, sampler.accepted, want)
		}
	}
}

// TestFirstToken checks that the time to the first token is the time of the prompt and of the first pick.
func TestFirstToken(t *testing.T) {
	const replay = 3 * time.Millisecond
	for max, waits := range map[int]bool{0: false, 1: true, 4: true} {
		s, r := newFake(16)
		r.After = func() { time.Sleep(replay) }
		start, handed := time.Now(), time.Duration(0)
		res, err := s.Generate(context.Background(), Request{Prompt: []int32{1, 2}, Max: max, Sampler: &greedy{}}, func(int32) bool {
			if handed == 0 {
				handed = time.Since(start)
			}
			return true
		})
		if err != nil || res.FirstToken > handed || waits && res.FirstToken < 2*replay {
			t.Errorf("%d tokens: the first after %v; it was handed over after %v, %v", max, res.FirstToken, handed, err)
		}
	}
}

func TestGenerateReusesPrefix(t *testing.T) {
	s, r := newFake(16)
	if _, err := s.Generate(context.Background(), Request{Prompt: []int32{1, 2}, Max: 3, Sampler: &greedy{}}, func(int32) bool { return true }); err != nil {
		t.Fatal(err)
	}
	before := r.Replays // timeline 1 2 3 4; 5 was emitted but not run
	res, err := s.Generate(context.Background(), Request{Prompt: []int32{1, 2, 3, 4, 5, 9}, Max: 1, Sampler: &greedy{}}, func(int32) bool { return true })
	if err != nil || res.Reused != 4 || res.Prompt.Tokens != 2 || r.Replays-before != 2 || !slices.Equal(res.Tokens, []int32{10}) {
		t.Errorf("%+v, %d replays, %v", res, r.Replays-before, err)
	}
}

func TestGenerateCancel(t *testing.T) {
	for n, want := range map[int]int{1: 0, 3: 2} { // replay in which it is cancelled: tokens emitted
		s, r := newFake(16)
		res, err := s.Generate(canceller(r, n), Request{Prompt: []int32{1, 2}, Max: -1, Sampler: &greedy{}}, func(int32) bool { return true })
		if !errors.Is(err, context.Canceled) || res.Reason != ReasonCancel || len(res.Tokens) > want || len(s.Tokens()) != n || res.Prompt.Tokens != min(n, 2) {
			t.Errorf("cancelled in replay %d: %+v, timeline %d, %v", n, res, s.Tokens(), err)
		}
	}
}

func TestGenerateErrors(t *testing.T) {
	s, r := newFake(4)
	if res, err := s.Generate(context.Background(), Request{Sampler: &greedy{}}, nil); err == nil || res.Reason != ReasonError {
		t.Errorf("empty prompt: %+v, %v", res, err)
	}
	var full *ContextError
	if _, err := s.Generate(context.Background(), Request{Prompt: make([]int32, 5), Sampler: &greedy{}}, nil); !errors.As(err, &full) {
		t.Errorf("long prompt: %v", err)
	}
	r.Fail = errors.New("lost")
	if res, err := s.Generate(context.Background(), Request{Prompt: []int32{1}, Sampler: &greedy{}}, nil); !errors.Is(err, r.Fail) || res.Reason != ReasonError {
		t.Errorf("failing device: %+v, %v", res, err)
	}
}

func TestTiming(t *testing.T) {
	if got := (Timing{Tokens: 10, Elapsed: 5e9}).PerSecond(); got != 2 {
		t.Errorf("10 tokens in 5 s are %g per second", got)
	}
	if got := (Timing{Elapsed: 5e9}).PerSecond(); got != 0 {
		t.Errorf("no tokens are %g per second", got)
	}
}
