package engine_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"mla/runtime/device"
	"mla/runtime/engine"
	"mla/runtime/plan"
	"mla/runtime/quant"
	"mla/tools/tests/race"
)

// TestSixteenSessions checks that 16 sessions after the same 4,096 tokens hold the pages of these tokens
// once.
func TestSixteenSessions(t *testing.T) {
	const sessions = 16
	prefix := race.Rounds(4096)
	e := open(t, filepath.Join(references, "youtu-tiny-F32.gguf"))
	// Room for the prefix and a page for each session; not for a second prefix.
	cfg := device.Config{Context: prefix + plan.PageRows, Tables: sessions, Pages: prefix/plan.PageRows + sessions, KV: quant.F16}
	estimate, err := e.Estimate(cfg)
	if err != nil {
		t.Fatal(err)
	}
	m := load(t, e, cfg)
	vocab := e.Bundle().Model.VocabSize
	prompt := make([]int32, prefix+1)
	for i := range prompt {
		prompt[i] = int32((i*i + 3) % vocab)
	}
	var first []float32
	for i := range sessions {
		s, err := m.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Sync(context.Background(), prompt, nil); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = slices.Clone(s.Logits())
		}
		if !slices.Equal(s.Logits(), first) {
			t.Errorf("session %d has other logits than the first", i)
		}
	}
	got := m.Pages()
	page := estimate.Pages / int64(cfg.Pages)
	t.Logf("%d sessions of %d tokens: %d pages, %s; apart they would take %s", sessions, len(prompt), got.InUse,
		engine.Size(int64(got.InUse)*page), engine.Size(int64(sessions*plan.Pages(len(prompt)))*page))
	if got.InUse != cfg.Pages || got.Shared != prefix/plan.PageRows || got.Hits != int64((sessions-1)*prefix) || got.Misses != int64(prefix+sessions) {
		t.Errorf("%+v; want %d pages shared and one more per session", got, prefix/plan.PageRows)
	}
}

// company is one of several sessions, with its expected tokens and logits.
type company struct {
	session *engine.Session
	text    []int32
}

// TestSessionsInRandomOrder opens, continues, rewinds and closes sessions of one model with few pages and
// similar texts. It checks that the logits of each session are, bit by bit, the logits of its text alone.
func TestSessionsInRandomOrder(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	e := open(t, filepath.Join(references, "youtu-tiny-F32.gguf"))
	cfg := device.Config{Context: 256, Tables: 4, Pages: 6, KV: quant.F16, Threads: 2}
	m, alone := load(t, e, cfg), newSession(t, e, device.Config{Context: 256, KV: quant.F16, Threads: 2})
	vocab := int32(e.Bundle().Model.VocabSize)
	var open []*company
	refused, compared := 0, 0
	check := func(c *company) {
		if err := alone.Sync(context.Background(), c.text, nil); err != nil {
			t.Fatal(err)
		}
		if compared++; !slices.Equal(c.session.Logits(), alone.Logits()) {
			t.Fatalf("other logits after %d tokens than alone", len(c.text))
		}
	}
	sync := func(c *company, text []int32) {
		err := c.session.Sync(context.Background(), text, nil)
		var out *engine.OutOfPages
		if errors.As(err, &out) {
			refused++
			c.text = slices.Clone(c.session.Tokens())
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		c.text = slices.Clone(text)
		check(c)
	}
	for range 250 {
		switch {
		case len(open) == 0 || len(open) < cfg.Tables && rng.IntN(4) == 0:
			s, err := m.NewSession()
			if err != nil {
				t.Fatal(err)
			}
			c := &company{session: s}
			open = append(open, c)
			text := slices.Repeat([]int32{int32(rng.IntN(2))}, 1+rng.IntN(150))
			sync(c, append(text, rng.Int32N(vocab)))
			continue
		case rng.IntN(8) == 0:
			i := rng.IntN(len(open))
			if err := open[i].session.Close(); err != nil {
				t.Fatal(err)
			}
			open = slices.Delete(open, i, i+1)
			continue
		}
		c := open[rng.IntN(len(open))]
		if rng.IntN(6) == 0 && len(c.text) > 1 {
			sync(c, slices.Concat(c.text[:1+rng.IntN(len(c.text)-1)], []int32{int32(rng.IntN(2))}))
			continue
		}
		for range min(1+rng.IntN(9), cfg.Context-len(c.text)) {
			token := int32(rng.IntN(2))
			err := c.session.Append(token)
			var out *engine.OutOfPages
			if errors.As(err, &out) {
				refused++
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			c.text = append(c.text, token)
			check(c)
		}
	}
	stats := m.Pages()
	t.Logf("%d comparisons, out of pages %d times, %+v", compared, refused, stats)
	if compared < 100 || refused == 0 || stats.Hits == 0 {
		t.Error("the schedule does too little")
	}
}
