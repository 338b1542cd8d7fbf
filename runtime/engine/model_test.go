package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"mla/runtime/device"
	"mla/runtime/doctor/fake"
	"mla/runtime/plan"
)

// fakeModel returns a model with several sessions, and its runner.
func fakeModel(t *testing.T, cfg device.Config) (*Model, *fake.Runner) {
	t.Helper()
	r := fake.New(fakeVocab, cfg)
	m, err := NewModel(r, fakeVocab, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m, r
}

func open(t *testing.T, m *Model) *Session {
	t.Helper()
	s, err := m.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func synced(t *testing.T, s *Session, tokens []int32) {
	t.Helper()
	if err := s.Sync(context.Background(), tokens, nil); err != nil {
		t.Fatal(err)
	}
}

// text returns n tokens that depend on the number first.
func text(first, n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32((first + i*i/7) % fakeVocab)
	}
	return out
}

// TestSharedPrefix checks that a second session with the same long prompt runs only the rows after the last
// shared full page, and that the sessions then continue independently.
func TestSharedPrefix(t *testing.T) {
	m, r := fakeModel(t, device.Config{Context: 400, Tables: 3, Pages: 20})
	prompt := text(3, 300)
	a, b := open(t, m), open(t, m)
	synced(t, a, prompt)
	before := r.Replays
	synced(t, b, prompt)
	if ran := r.Replays - before; ran != 300%plan.PageRows {
		t.Errorf("the second session ran %d rows; want %d", ran, 300%plan.PageRows)
	}
	if got := m.Pages(); got.InUse != 6 || got.Shared != 4 {
		t.Errorf("%+v; want 4 pages shared and one more for each", got)
	}
	for i := range int32(100) {
		for table, s := range []*Session{a, b} {
			if err := s.Append((i*3 + 5*int32(table)) % fakeVocab); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(r.Tokens(uint32(table), len(s.Tokens())), s.Tokens()) {
				t.Fatalf("session %d, token %d: other rows than its tokens'", table, i)
			}
		}
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	c, before := open(t, m), r.Replays
	synced(t, c, slices.Concat(prompt[:290], []int32{9, 2})) // ends inside a cached page, which is not found
	if ran := r.Replays - before; ran != 292%plan.PageRows || c.table != 0 {
		t.Errorf("the third session ran %d rows; want %d", ran, 292%plan.PageRows)
	}
	if got := r.Tokens(0, 292); !slices.Equal(got, c.Tokens()) || r.Copied != 0 {
		t.Errorf("%d rows were copied; rows %d", r.Copied, got)
	}
	if !slices.Equal(r.Tokens(1, len(b.Tokens())), b.Tokens()) {
		t.Error("the second session has other rows now")
	}
}

// TestPrivateSession checks that a private session neither finds pages nor leaves any.
func TestPrivateSession(t *testing.T) {
	m, r := fakeModel(t, device.Config{Context: 300, Tables: 2, Pages: 10})
	s, err := m.NewPrivateSession()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		before := r.Replays
		synced(t, s, text(0, 200))
		if r.Replays-before != 200 {
			t.Errorf("%d rows were run of 200", r.Replays-before)
		}
		synced(t, s, nil)
	}
	if got := m.Pages(); got.Cached != 0 || got.InUse != 0 {
		t.Errorf("%+v", got)
	}
	before := r.Replays
	if err := s.FillForBench(text(0, 200)); err != nil {
		t.Fatal(err)
	}
	synced(t, open(t, m), text(0, 200))
	if r.Replays-before != 200 {
		t.Errorf("a session found %d pretended tokens", 200-(r.Replays-before))
	}
}

// TestLogitsOfAnother checks that the logits of a session are valid until another session runs a token.
func TestLogitsOfAnother(t *testing.T) {
	m, r := fakeModel(t, device.Config{Context: 64, Tables: 2, Pages: 2})
	a, b := open(t, m), open(t, m)
	synced(t, a, []int32{1, 2})
	synced(t, b, []int32{5})
	if a.Logits() != nil || b.Logits()[6] != 1 {
		t.Errorf("logits %v and %v", a.Logits(), b.Logits())
	}
	before := r.Replays
	synced(t, a, []int32{1, 2})
	if r.Replays != before+1 || a.Logits()[3] != 1 || b.Logits() != nil {
		t.Errorf("%d replays, logits %v and %v", r.Replays-before, a.Logits(), b.Logits())
	}
}

func TestSessionsAndPagesRunOut(t *testing.T) {
	m, r := fakeModel(t, device.Config{Context: 256, Tables: 2, Pages: 4})
	a, b := open(t, m), open(t, m)
	var many *SessionsError
	if _, err := m.NewSession(); !errors.As(err, &many) || many.Sessions != 2 {
		t.Errorf("a third session: %v", err)
	}
	synced(t, a, text(0, 130)) // 3 pages
	before := r.Replays
	err := b.Sync(context.Background(), text(1, 65), nil)
	var out *OutOfPages
	if !errors.As(err, &out) || *out != (OutOfPages{Rows: 65, Needed: 2, Available: 1, Total: 4}) || r.Replays != before {
		t.Fatalf("%v after %d rows", err, r.Replays-before)
	}
	if want := "out of pages: 65 tokens after 0 take 2 more, and of 4 (each for 64 tokens) 1 can be had; close other sessions"; !strings.Contains(err.Error(), want) {
		t.Errorf("%q; want %q", err, want)
	}
	synced(t, b, text(1, 64))
	if err := b.Append(1); !errors.As(err, &out) || len(b.Tokens()) != 64 {
		t.Errorf("%v, %d tokens", err, len(b.Tokens()))
	}
	if err := errors.Join(a.Close(), a.Close()); err != nil {
		t.Error(err)
	}
	if err := b.Append(1); err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{"Sync": a.Sync(context.Background(), nil, nil), "Append": a.Append(1), "Reserve": a.Reserve(1), "FillForBench": a.FillForBench(nil)} {
		if !errors.Is(err, errClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
	if err := m.Close(); err != nil || !r.Closed {
		t.Error(err)
	}
	if _, err := m.NewSession(); !errors.Is(err, errClosed) || !errors.Is(b.Append(1), errClosed) {
		t.Errorf("a session of a closed model: %v", err)
	}
}

// TestAheadAndPages checks that tokens which the device picks by itself get pages, across page borders. When
// the pages run out, the device stops with the text that the host would have made.
func TestAheadAndPages(t *testing.T) {
	for unit := range 6 {
		cfg := device.Config{Context: 256, Tables: 2, Pages: 4}
		f := fake.New(fakeVocab, cfg)
		m, err := NewModel(f, fakeVocab, cfg)
		if err != nil {
			t.Fatal(err)
		}
		other, s := open(t, m), open(t, m)
		synced(t, other, text(4, 70)) // 2 pages
		res, err := s.Generate(context.Background(), Request{Prompt: []int32{1, 2}, Max: 200, Sampler: &portable{}, Ahead: unit}, func(int32) bool { return true })
		var out *OutOfPages
		if !errors.As(err, &out) || res.Reason != ReasonError || len(res.Tokens) != 127 || len(s.Tokens()) != 128 {
			t.Errorf("units of %d: %v, %d tokens, timeline of %d", unit, err, len(res.Tokens), len(s.Tokens()))
		}
		if !slices.Equal(f.Tokens(1, len(s.Tokens())), s.Tokens()) || !slices.Equal(f.Tokens(0, 70), other.Tokens()) {
			t.Errorf("units of %d: other rows than the tokens'", unit)
		}
	}
}

// TestAheadBelongsToOne checks that a row of another session ends the steps that the device makes by itself,
// and that the text continues as without them.
func TestAheadBelongsToOne(t *testing.T) {
	for unit := range 3 {
		cfg := device.Config{Context: 64, Tables: 2, Pages: 2}
		f := fake.New(fakeVocab, cfg)
		m, err := NewModel(f, fakeVocab, cfg)
		if err != nil {
			t.Fatal(err)
		}
		other, s := open(t, m), open(t, m)
		res, err := s.Generate(context.Background(), Request{Prompt: []int32{1, 2}, Max: 20, Sampler: &portable{}, Ahead: unit}, func(id int32) bool {
			if id == 5 {
				synced(t, other, []int32{9})
			}
			return true
		})
		if err != nil || len(res.Tokens) != 20 || !slices.Equal(res.Tokens[:5], []int32{3, 4, 5, 6, 7}) || unit > 0 && f.Ahead == 0 {
			t.Errorf("units of %d: %v, %v", unit, err, res.Tokens)
		}
		synced(t, s, []int32{1, 2, 3})
		if !slices.Equal(f.Tokens(1, 3), []int32{1, 2, 3}) || s.Logits()[4] != 1 {
			t.Errorf("units of %d: rows %d", unit, f.Tokens(1, 3))
		}
	}
}

// TestFailureLasts checks that a model returns errors after its device has failed once, because the content
// of the pages is then unknown.
func TestFailureLasts(t *testing.T) {
	m, r := fakeModel(t, device.Config{Context: 64, Tables: 2, Pages: 2})
	a, b := open(t, m), open(t, m)
	r.Fail = errLost
	if err := a.Append(1); !errors.Is(err, errLost) {
		t.Error(err)
	}
	r.Fail = nil
	if err := b.Append(1); !errors.Is(err, errLost) || !strings.Contains(err.Error(), "loaded again") {
		t.Errorf("after a failure: %v", err)
	}
}
