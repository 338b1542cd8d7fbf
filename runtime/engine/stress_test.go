package engine

import (
	"errors"
	"testing"
)

// TestStress checks a stress test after a prompt: the session forgets the prompt afterwards.
func TestStress(t *testing.T) {
	s, r := newFake(4)
	got, err := s.Stress(t.Context(), []int32{1, 2, 3}, [2]int32{5, 6}, 7, nil)
	if err != nil || got.Replays != 7 || got.Different != 0 || r.Replays != 3+7 || len(s.Tokens()) != 0 {
		t.Errorf("%+v, %v, %d replays, timeline %v", got, err, r.Replays, s.Tokens())
	}
	var full *ContextError
	if _, err := s.Stress(t.Context(), []int32{1, 2, 3, 4}, [2]int32{5, 6}, 7, nil); !errors.As(err, &full) {
		t.Errorf("a full context: %v", err)
	}
	if _, err := s.Stress(t.Context(), []int32{1}, [2]int32{5, fakeVocab}, 7, nil); err == nil {
		t.Error("an unknown token is accepted")
	}
}
