package engine

import (
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"mla/runtime/device"
	"mla/runtime/engine/promptcache"
	"mla/runtime/plan"
)

// folding returns a model whose sessions have states, and whose logits depend on all tokens in the state.
func folding(t *testing.T, cfg device.Config) *Model {
	t.Helper()
	m, r := hashed(t, cfg)
	r.Folds = true
	m.keepStates()
	return m
}

// folded returns the logits after a text that runs on a model of its own.
func folded(t *testing.T, text []int32) []float32 {
	t.Helper()
	s := opened(t, folding(t, device.Config{Context: 512}))
	synced(t, s, text)
	return slices.Clone(s.Logits())
}

// guesses proposes the tokens of a text, and other tokens now and then.
type guesses struct {
	text []int32
	rng  *rand.Rand
}

func (g *guesses) Propose(text []int32, n int) (out []int32) {
	for len(out) < n && len(text)+len(out) < len(g.text) {
		out = append(out, g.text[len(text)+len(out)])
	}
	if len(out) > 0 && g.rng.IntN(2) == 0 {
		out[g.rng.IntN(len(out))] = g.rng.Int32N(fakeVocab)
	}
	return out
}

// TestEditedTexts checks that the logits depend on the present text only, for any timeline before it and
// after wrong guesses.
func TestEditedTexts(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 1))
	for range 40 {
		m := folding(t, device.Config{Context: 512, Tables: 2, Pages: 12, Width: 1 + rng.IntN(20)})
		sessions := []*Session{opened(t, m), opened(t, m)}
		var text []int32
		for range 12 {
			text = slices.Clone(text[:rng.IntN(len(text)+1)])
			for range 1 + rng.IntN(3) {
				text = append(text, slices.Repeat([]int32{rng.Int32N(2)}, 1+rng.IntN(70))...)
			}
			text = text[:min(len(text), 300)]
			s := sessions[rng.IntN(2)]
			synced(t, s, text)
			if !slices.Equal(s.Logits(), folded(t, text)) {
				t.Fatalf("logits after %d tokens are of another text", len(text))
			}
			if rng.IntN(2) == 0 {
				continue
			}
			alone := opened(t, folding(t, device.Config{Context: 512}))
			want, err := alone.Generate(t.Context(), Request{Prompt: text, Max: 12, Sampler: &greedy{}}, func(int32) bool { return true })
			if err != nil {
				t.Fatal(err)
			}
			draft := &guesses{slices.Concat(text, want.Tokens), rng}
			got, err := s.Generate(t.Context(), Request{Prompt: text, Max: 12, Sampler: &greedy{}, Draft: draft}, func(int32) bool { return true })
			if err != nil || !slices.Equal(got.Tokens, want.Tokens) {
				t.Fatalf("%d, %v; without guesses %d", got.Tokens, err, want.Tokens)
			}
			text = slices.Clone(s.Tokens())
		}
		if err := m.pool.Invariants(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCopies checks that a prompt runs from the last page whose state was copied. The common beginning of two
// prompts gets a copy when the second prompt leaves it. The number of copies stays within the budget.
func TestCopies(t *testing.T) {
	m := folding(t, device.Config{Context: 512, Pages: 40})
	first, second, third := prompt(200), append(prompt(140), slices.Repeat([]int32{9}, 80)...), append(prompt(140), 7)
	for i, tt := range []struct {
		text   []int32
		reused int
	}{{first, 0}, {first, 192}, {second, 0}, {third, 128}, {append(slices.Clone(first), 1, 2), 192}} {
		s := opened(t, m)
		res, err := s.Generate(t.Context(), Request{Prompt: tt.text, Max: 1, Sampler: &greedy{}}, func(int32) bool { return true })
		if err != nil || res.Reused != tt.reused {
			t.Errorf("prompt %d: %d tokens were found, %v; want %d", i, res.Reused, err, tt.reused)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s := opened(t, m)
	for i := range 12 {
		synced(t, s, slices.Repeat([]int32{int32(i)}, 100))
	}
	if n, bytes := m.States(); n != statesPerSession || bytes != StateBudget(device.Config{}, m.StateBytes()) {
		t.Errorf("%d copies of %d bytes", n, bytes)
	}
}

// TestSavedState checks that a file stores the state after its tokens, so that a text continues after all of
// these tokens or runs from the start.
func TestSavedState(t *testing.T) {
	m := folding(t, device.Config{Context: 512})
	key := fakeKey
	key.State = m.StateBytes()
	s, text := opened(t, m), prompt(200)
	synced(t, s, text)
	path := filepath.Join(t.TempDir(), "cache")
	n := s.Savable(195)
	if n != 192 || s.Savable(200) != 200 {
		t.Fatalf("%d of 195 tokens and %d of 200 can be saved; want 192 and 200", n, s.Savable(200))
	}
	if err := s.SavePrompt(t.Context(), path, key, 195); err == nil {
		t.Error("a prompt was saved after which there is no state")
	}
	for _, n := range []int{192, 200} {
		if err := s.SavePrompt(t.Context(), path, key, n); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			text     []int32
			restored int
		}{{append(slices.Clone(text), 3), n}, {append(slices.Clone(text[:100]), 3), 0}} {
			f, err := promptcache.Open(path, key)
			if err != nil {
				t.Fatal(err)
			}
			other := opened(t, folding(t, device.Config{Context: 512}))
			restored, err := other.Restore(context.Background(), f, tt.text)
			if err != nil || restored != tt.restored {
				t.Errorf("%d tokens restored, %v; want %d", restored, err, tt.restored)
			}
			synced(t, other, tt.text)
			if !slices.Equal(other.Logits(), folded(t, tt.text)) {
				t.Error("logits after restored tokens are of another text")
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if key.State = 0; key.PageBytes() != plan.PageRows*key.Planes.RowBytes() {
		t.Fatal("another key")
	}
	if _, err := promptcache.Open(path, key); err == nil {
		t.Error("a file with a state opens where there are none")
	}
}

// TestBudgets checks that texts do not depend on the budget of copies, including none and less than one copy,
// and that copies take no more memory than the budget.
func TestBudgets(t *testing.T) {
	const each = 8 // bytes of a state
	for budget, most := range map[int64]int{-1: 0, 1: 0, each - 1: 0, each: 1, 3*each + 1: 3, math.MaxInt64: 1 << 20} {
		m := folding(t, device.Config{Context: 512, Tables: 2, Pages: 14, CacheRAM: budget})
		if m.StateBytes() != each || StateBudget(m.cfg, each) > 14*each {
			t.Fatalf("states of %d bytes, a budget of %d", m.StateBytes(), StateBudget(m.cfg, each))
		}
		sessions := []*Session{opened(t, m), opened(t, m)}
		first := prompt(200)
		for i, text := range [][]int32{first, first, append(slices.Clone(first[:130]), 9, 9), first[:1], append(slices.Clone(first), 2), first[:64]} {
			s := sessions[i%2]
			synced(t, s, text)
			if !slices.Equal(s.Logits(), folded(t, text)) {
				t.Errorf("a budget of %d: logits after text %d are of another", budget, i)
			}
			alone := opened(t, folding(t, device.Config{Context: 512}))
			want, err := alone.Generate(t.Context(), Request{Prompt: text, Max: 20, Sampler: &greedy{}}, func(int32) bool { return true })
			if err != nil {
				t.Fatal(err)
			}
			draft := &guesses{slices.Concat(text, want.Tokens), rand.New(rand.NewPCG(1, uint64(i)))}
			got, err := s.Generate(t.Context(), Request{Prompt: text, Max: 20, Sampler: &greedy{}, Draft: draft}, func(int32) bool { return true })
			if err != nil || !slices.Equal(got.Tokens, want.Tokens) {
				t.Errorf("a budget of %d, text %d: %d, %v; alone %d", budget, i, got.Tokens, err, want.Tokens)
			}
			if n, bytes := m.States(); n > most || bytes > max(budget, 0) {
				t.Errorf("a budget of %d: %d copies of %d bytes", budget, n, bytes)
			}
		}
	}
}
