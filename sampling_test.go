package mla_test

import (
	"testing"

	"mla"
)

// TestSampling: steps of samplers, their order, and an answer that must not end too soon.
func TestSampling(t *testing.T) {
	m, err := mla.Open("testdata/tinychat.gguf", mla.Options{Device: "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	answer := func(change func(*mla.Sampling)) mla.Result {
		t.Helper()
		c, err := m.NewChat("")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		off := false
		c.Thinking = &off
		p := mla.Greedy()
		change(&p)
		for _, err := range c.Send(t.Context(), "What is 27 + 58?", mla.Generation{Max: 80, Sampling: &p}) {
			if err != nil {
				t.Fatal(err)
			}
		}
		return c.Last()
	}
	plain := answer(func(*mla.Sampling) {})
	if plain.Reason != mla.Stop || len(plain.Tokens) >= 60 {
		t.Fatalf("%+v", plain)
	}
	if long := answer(func(p *mla.Sampling) { p.MinTokens = 60 }); len(long.Tokens) < 60 {
		t.Errorf("%d tokens; expected 60 or more", len(long.Tokens))
	}
	order, err := mla.SamplingOrder("temperature", "top_k")
	if err != nil {
		t.Fatal(err)
	}
	if got := answer(func(p *mla.Sampling) { p.Temperature, p.TopK, p.Order = 3, 1, order }); got.Text != plain.Text {
		t.Errorf("%q; expected %q", got.Text, plain.Text)
	}
	for name, change := range map[string]func(*mla.Sampling){
		"DRY":      func(p *mla.Sampling) { p.DRYMultiplier, p.DRYAllowedLength, p.DRYBase = 50, 0, 2 },
		"XTC":      func(p *mla.Sampling) { p.Temperature, p.XTCProbability, p.XTCThreshold = 1, 1, 1e-4 },
		"mirostat": func(p *mla.Sampling) { p.Temperature, p.Mirostat, p.MirostatTau, p.MirostatEta = 20, 2, 9, 1 },
	} {
		if got := answer(change); got.Text == plain.Text {
			t.Errorf("%s changes nothing: %q", name, got.Text)
		}
	}
	if _, err := mla.SamplingOrder("best"); err == nil {
		t.Error("an order of what is no sampler")
	}
}
