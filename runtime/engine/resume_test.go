package engine

import (
	"slices"
	"testing"
)

type accepting struct{ tokens []int32 }

func (a *accepting) Next([]float32) int32 { return 7 }
func (a *accepting) Accept(token int32)   { a.tokens = append(a.tokens, token) }

// TestResumed: what a sampler has accepted before is not accepted again.
func TestResumed(t *testing.T) {
	a := &accepting{}
	s := Resumed(a, 2)
	for _, token := range []int32{1, 2, 3, 4} {
		s.Accept(token)
	}
	if _, portable := s.(Portable); portable || s.Next(nil) != 7 || !slices.Equal(a.tokens, []int32{3, 4}) {
		t.Errorf("%v", a.tokens)
	}
}
