package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestSync(t *testing.T) {
	tests := []struct {
		name       string
		have, want []int32
		replays    int
	}{
		{"from nothing", nil, []int32{1, 2, 3}, 3},
		{"longer", []int32{1, 2}, []int32{1, 2, 3, 4}, 2},
		{"the same", []int32{1, 2}, []int32{1, 2}, 0},
		{"shorter", []int32{1, 2, 3, 4}, []int32{1, 2}, 1}, // the logits of 2 are gone
		{"another ending", []int32{1, 2, 3, 4}, []int32{1, 2, 5}, 1},
		{"another beginning", []int32{1, 2, 3}, []int32{4, 2, 3}, 3},
		{"to nothing", []int32{1, 2, 3}, nil, 0},
	}
	for _, tt := range tests {
		s, r := newFake(8)
		if err := s.Sync(context.Background(), tt.have, nil); err != nil {
			t.Fatal(err)
		}
		before := r.Replays
		if err := s.Sync(context.Background(), tt.want, nil); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if n := r.Replays - before; n != tt.replays {
			t.Errorf("%s: %d replays; want %d", tt.name, n, tt.replays)
		}
		if !slices.Equal(s.Tokens(), tt.want) {
			t.Errorf("%s: timeline %d; want %d", tt.name, s.Tokens(), tt.want)
		}
		if rows := r.Tokens(0, len(tt.want)); !slices.Equal(rows, tt.want) {
			t.Errorf("%s: cache rows of %d; want %d", tt.name, rows, tt.want)
		}
		if len(tt.want) == 0 {
			if s.Logits() != nil {
				t.Errorf("%s: logits of an empty timeline", tt.name)
			}
			continue
		}
		last := tt.want[len(tt.want)-1]
		if l := s.Logits(); len(l) != fakeVocab || l[last+1] != 1 {
			t.Errorf("%s: logits %v are not those of token %d", tt.name, l, last)
		}
	}
}

func TestSyncComputesLogitsOnce(t *testing.T) {
	s, r := newFake(8)
	if err := s.Sync(context.Background(), []int32{1, 2, 3, 4}, nil); err != nil {
		t.Fatal(err)
	}
	if r.WithLogits != 1 {
		t.Errorf("logits were computed for %d tokens of the prompt; want the last only", r.WithLogits)
	}
}

func TestSyncProgress(t *testing.T) {
	s, _ := newFake(8)
	var got []int
	record := func(done, total int) { got = append(got, done, total) }
	for _, tokens := range [][]int32{{1, 2}, {1, 2, 3}} {
		if err := s.Sync(context.Background(), tokens, record); err != nil {
			t.Fatal(err)
		}
	}
	if want := []int{0, 2, 1, 2, 2, 3}; !slices.Equal(got, want) {
		t.Errorf("progress %d; want %d", got, want)
	}
}

func TestSyncErrors(t *testing.T) {
	s, _ := newFake(3)
	if err := s.Sync(context.Background(), []int32{1, 2}, nil); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		tokens []int32
		want   string
	}{
		{[]int32{1, 2, 3, 4}, "4 tokens do not fit the context of 3"},
		{[]int32{1, fakeVocab}, "token 16 at position 1 is outside the vocabulary of 16"},
		{[]int32{-1}, "token -1 at position 0"},
	}
	for _, tt := range tests {
		if err := s.Sync(context.Background(), tt.tokens, nil); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Sync(%d): %v; want %q", tt.tokens, err, tt.want)
		}
		if !slices.Equal(s.Tokens(), []int32{1, 2}) {
			t.Errorf("Sync(%d) failed but changed the timeline to %d", tt.tokens, s.Tokens())
		}
	}
}

func TestSyncCancel(t *testing.T) {
	s, r := newFake(8)
	err := s.Sync(canceller(r, 2), []int32{1, 2, 3, 4}, nil)
	if !errors.Is(err, context.Canceled) || !slices.Equal(s.Tokens(), []int32{1, 2}) || s.Logits() != nil {
		t.Errorf("cancelled in the second token: %v, timeline %d", err, s.Tokens())
	}
	if err := s.Sync(context.Background(), []int32{1, 2, 3, 4}, nil); err != nil || r.Replays != 4 {
		t.Errorf("going on took %d replays in all, %v; want 4", r.Replays, err)
	}
}

func TestReplayFailure(t *testing.T) {
	s, r := newFake(8)
	if err := s.Sync(context.Background(), []int32{1, 2}, nil); err != nil {
		t.Fatal(err)
	}
	r.Fail = errors.New("device lost")
	for _, err := range []error{s.Append(3), s.Sync(context.Background(), []int32{1, 5}, nil)} {
		if !errors.Is(err, r.Fail) {
			t.Errorf("error is %v; want the runner's", err)
		}
	}
	if s.Logits() != nil || len(s.Tokens()) > 2 {
		t.Errorf("the failed tokens are on the timeline: %d", s.Tokens())
	}
}

func TestAppend(t *testing.T) {
	s, _ := newFake(2)
	for token := range int32(2) {
		if err := s.Append(token); err != nil {
			t.Fatal(err)
		}
	}
	var full *ContextError
	if err := s.Append(2); !errors.As(err, &full) || full.Tokens != 3 || full.Context != 2 {
		t.Errorf("third token in a context of two: %v", err)
	}
	s, _ = newFake(2)
	if err := s.Append(fakeVocab); err == nil {
		t.Error("a token outside the vocabulary is accepted")
	}
}

// TestPretend checks that tokens which are declared as run are not run, and that the tokens after them get
// the right positions.
func TestPretend(t *testing.T) {
	s, r := newFake(8)
	if err := s.Sync(context.Background(), []int32{7, 7, 7, 7}, nil); err != nil {
		t.Fatal(err)
	}
	before := r.Replays
	if err := s.FillForBench([]int32{1, 2, 3}); err != nil || r.Replays != before {
		t.Errorf("%d replays, %v; want none", r.Replays-before, err)
	}
	if err := s.Sync(context.Background(), []int32{1, 2, 3, 4}, nil); err != nil || r.Replays != before+1 {
		t.Errorf("%d replays, %v; want 1", r.Replays-before, err)
	}
	if want := []int32{1, 2, 3, 4}; !slices.Equal(s.Tokens(), want) {
		t.Errorf("timeline %d; want %d", s.Tokens(), want)
	}
	var long *ContextError
	if err := s.FillForBench(make([]int32, 9)); !errors.As(err, &long) {
		t.Errorf("9 tokens in a context of 8: %v", err)
	}
}
