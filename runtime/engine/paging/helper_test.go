package paging

import (
	"errors"
	"slices"
	"testing"
)

// numbers returns n tokens: first, first+1, …
func numbers(first, n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(first + i)
	}
	return out
}

func newPool(t testing.TB, pages int) *Pool {
	t.Helper()
	p, err := NewPool(pages)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// run reserves capacity for tokens and appends them.
func run(t testing.TB, s *Sequence, tokens []int32) (reserved, appended Orders) {
	t.Helper()
	reserved, err := s.Reserve(len(tokens))
	if err != nil {
		t.Fatal(err)
	}
	appended, err = s.Append(tokens)
	if err != nil {
		t.Fatal(err)
	}
	consistent(t, s.pool)
	return reserved, appended
}

// prompted opens a sequence and runs the part of its prompt that the cache lacks.
func prompted(t testing.TB, p *Pool, prompt []int32) *Sequence {
	t.Helper()
	s, _ := p.Open("", prompt)
	run(t, s, prompt[s.Len():])
	return s
}

func consistent(t testing.TB, p *Pool) {
	t.Helper()
	if err := p.Invariants(); err != nil {
		t.Fatal(err)
	}
}

func wantTable(t testing.TB, s *Sequence, want ...uint32) {
	t.Helper()
	if !slices.Equal(s.Table(), want) {
		t.Fatalf("table %v, want %v", s.Table(), want)
	}
}

func wantStats(t testing.TB, p *Pool, want Stats) {
	t.Helper()
	if got := p.Stats(); got != want {
		t.Fatalf("stats %+v\nwant  %+v", got, want)
	}
	consistent(t, p)
}

func wantOrders(t testing.TB, got, want Orders) {
	t.Helper()
	if !slices.Equal(got.Copies, want.Copies) || got.First != want.First || !slices.Equal(got.Pages, want.Pages) {
		t.Fatalf("orders %+v, want %+v", got, want)
	}
}

func wantOutOfPages(t testing.TB, err error, want OutOfPages) {
	t.Helper()
	if out, ok := errors.AsType[*OutOfPages](err); !ok || *out != want {
		t.Fatalf("%v, want %v", err, &want)
	}
}
