package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"mla/runtime/device"
	"mla/runtime/doctor/fake"
	"mla/runtime/engine/promptcache"
	"mla/runtime/plan"
	"mla/runtime/system/recordfile"
)

// fakeKey is the key of the prompt caches of fake runners.
var fakeKey = promptcache.Key{File: "fake", Layers: 1, Planes: plan.Planes{fake.New(fakeVocab, device.Config{Context: 1}).PageBytes() / plan.PageRows}}

// hashed returns a model whose logits depend on all cache rows before.
func hashed(t *testing.T, cfg device.Config) (*Model, *fake.Runner) {
	t.Helper()
	r := fake.New(fakeVocab, cfg)
	r.Logits = func(_ plan.Row, hash uint64, out []float32) {
		for i := range out {
			out[i] = float32(hash >> (4 * i) & 15)
		}
	}
	m, err := NewModel(r, fakeVocab, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m, r
}

func opened(t *testing.T, m *Model) *Session {
	t.Helper()
	s, err := m.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func prompt(n int, end ...int32) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(i*i/3) % fakeVocab
	}
	return append(out, end...)
}

// after returns the logits after a text that runs on a model of its own.
func after(t *testing.T, text []int32) []float32 {
	t.Helper()
	m, _ := hashed(t, device.Config{Context: 512})
	s := opened(t, m)
	if err := s.Sync(context.Background(), text, nil); err != nil {
		t.Fatal(err)
	}
	return s.Logits()
}

// saved returns an open prompt cache of the first n tokens of a text.
func saved(t *testing.T, text []int32, n int) (f *promptcache.File, path string) {
	t.Helper()
	m, _ := hashed(t, device.Config{Context: 512})
	s := opened(t, m)
	path = filepath.Join(t.TempDir(), "cache")
	if err := errors.Join(s.Sync(context.Background(), text, nil), s.SavePrompt(context.Background(), path, fakeKey, n)); err != nil {
		t.Fatal(err)
	}
	f, err := promptcache.Open(path, fakeKey)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f, path
}

// TestRestore checks that the tokens after a restored prompt are the same as if the whole prompt had been
// run.
func TestRestore(t *testing.T) {
	text := prompt(300)
	other := append(prompt(130), 9, 2, 3, 4, 5)
	for what, tt := range map[string]struct {
		saved    int     // tokens of text
		timeline []int32 // before
		prompt   []int32
		restored int
		pages    int // written
	}{
		"all of a prompt but its last token": {300, nil, text, 299, 5},
		"the beginning":                      {200, nil, text, 200, 4},
		"whole pages":                        {192, nil, text, 192, 3},
		"as far as they are equal":           {300, nil, other, 130, 3},
		"after what is there":                {300, prompt(70), text, 229, 4},
		"after what is there, in its place":  {300, prompt(70, 9, 9), text, 229, 4},
		"what is there is more":              {100, prompt(120), text, 0, 0},
		"nothing in common":                  {300, nil, []int32{7, 7, 7}, 0, 0},
		"an empty file":                      {0, nil, text, 0, 0},
		"one token":                          {300, nil, text[:1], 0, 0},
	} {
		f, _ := saved(t, text, tt.saved)
		m, r := hashed(t, device.Config{Context: 512})
		s := opened(t, m)
		if err := s.Sync(context.Background(), tt.timeline, nil); err != nil {
			t.Fatal(err)
		}
		before := r.Replays
		n, err := s.Restore(context.Background(), f, tt.prompt)
		if err != nil || n != tt.restored || r.Written != tt.pages || r.Replays != before {
			t.Errorf("%s: %d restored in %d pages, %v", what, n, r.Written, err)
		}
		have := len(s.Tokens())
		if n > 0 && !slices.Equal(s.Tokens(), tt.prompt[:have]) {
			t.Errorf("%s: the timeline is %d", what, s.Tokens())
		}
		if err := s.Sync(context.Background(), tt.prompt, nil); err != nil || !slices.Equal(s.Logits(), after(t, tt.prompt)) || n > 0 && r.Replays-before != len(tt.prompt)-have {
			t.Errorf("%s: other logits than without the file, %d replays, %v", what, r.Replays-before, err)
		}
		if err := m.pool.Invariants(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestRestoreShares checks that sessions find the pages that another session has restored.
func TestRestoreShares(t *testing.T) {
	text := prompt(300)
	f, _ := saved(t, text, 300)
	m, r := hashed(t, device.Config{Context: 512, Tables: 2, Pages: 20})
	a, b := opened(t, m), opened(t, m)
	if n, err := a.Restore(context.Background(), f, text); n != 299 || err != nil {
		t.Fatal(n, err)
	}
	written := r.Written
	// Of the last page, which is not full, b has rows of its own.
	if n, err := b.Restore(context.Background(), f, text); n != 299-256 || err != nil || r.Written != written+1 {
		t.Errorf("%d restored, %d pages written, %v", n, r.Written-written, err)
	}
	for _, s := range []*Session{a, b} {
		if err := s.Sync(context.Background(), text, nil); err != nil || !slices.Equal(s.Logits(), after(t, text)) {
			t.Errorf("other logits, %v", err)
		}
	}
	if err := m.pool.Invariants(); err != nil {
		t.Error(err)
	}
}

// TestRestoreDamaged checks that the pages before a damaged page of a file are used.
func TestRestoreDamaged(t *testing.T) {
	text := prompt(300)
	_, path := saved(t, text, 300)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-2*fakeKey.PageBytes()] ^= 1 // of the page before the last
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := promptcache.Open(path, fakeKey)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, _ := hashed(t, device.Config{Context: 512})
	s := opened(t, m)
	var damaged *recordfile.DamagedError
	if n, err := s.Restore(context.Background(), f, text); n != 192 || !errors.As(err, &damaged) {
		t.Errorf("%d restored, %v", n, err)
	}
	if err := s.Sync(context.Background(), text, nil); err != nil || !slices.Equal(s.Logits(), after(t, text)) {
		t.Errorf("other logits, %v", err)
	}
}

// TestRestoreFails checks that a session can continue after a failed restore.
func TestRestoreFails(t *testing.T) {
	text := prompt(300)
	f, _ := saved(t, text, 300)
	m, _ := hashed(t, device.Config{Context: 512, Tables: 1, Pages: 2})
	s := opened(t, m)
	var out *OutOfPages
	if n, err := s.Restore(context.Background(), f, text); n != 0 || !errors.As(err, &out) {
		t.Errorf("too few pages: %d, %v", n, err)
	}
	if err := s.Sync(context.Background(), text[:100], nil); err != nil || !slices.Equal(s.Logits(), after(t, text[:100])) {
		t.Errorf("too few pages: other logits, %v", err)
	}
	m, _ = hashed(t, device.Config{Context: 512})
	s = opened(t, m)
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if n, err := s.Restore(cancelled, f, text); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %d, %v", n, err)
	}
	var full *ContextError
	if _, err := s.Restore(context.Background(), f, make([]int32, 513)); !errors.As(err, &full) {
		t.Errorf("a long prompt: %v", err)
	}
	k := fakeKey
	k.Planes = plan.Planes{2 * k.Planes[0]}
	path := filepath.Join(t.TempDir(), "cache")
	if err := errors.Join(s.FillForBench(text)); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Restore(context.Background(), f, text); n != 0 || err != nil {
		t.Errorf("a pretended timeline: %d, %v", n, err)
	}
	for what, err := range map[string]error{
		"pretended rows":   s.SavePrompt(context.Background(), path, fakeKey, 10),
		"too many":         s.SavePrompt(context.Background(), path, fakeKey, 301),
		"a negative count": s.SavePrompt(context.Background(), path, fakeKey, -1),
	} {
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	if err := errors.Join(s.Sync(context.Background(), nil, nil), s.Sync(context.Background(), text, nil)); err != nil {
		t.Fatal(err)
	}
	if err := s.SavePrompt(context.Background(), path, k, 10); !errors.Is(err, errOtherPages) {
		t.Errorf("pages of another size: %v", err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("a file is there: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Restore(context.Background(), f, text); !errors.Is(err, errClosed) {
		t.Errorf("closed: %v", err)
	}
}
