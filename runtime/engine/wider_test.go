package engine_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"

	"mla/generated"
	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/doctor/devicetest"
	"mla/runtime/engine"
	"mla/runtime/engine/draft"
	"mla/runtime/engine/opening"
	"mla/runtime/gguf"
	"mla/runtime/load/bundles"
	"mla/runtime/plan"
	"mla/runtime/quant"
	"mla/runtime/serve/scheduler"
	"mla/runtime/text/sample"
)

// overflowing returns the path of the model file of devicetest.Overflow.
func overflowing(t *testing.T) string {
	t.Helper()
	path, err := devicetest.Overflow("../..", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// opened is an opener of the file on a device of a class. It records the notes.
type opened struct {
	path, act, cache string
	bundles          []*plan.Bundle
	said             []string
}

func (o *opened) open(t *testing.T, class string) *engine.Engine {
	t.Helper()
	e, err := opening.Open(opening.Options{
		File:    func(device.Device) (*gguf.File, error) { return gguf.Open(o.path) },
		Bundles: &bundles.Finder{Program: o.bundles}, Act: o.act, Cache: o.cache,
		Devices: []opening.Candidate{{Open: func() (device.Device, error) { return classed{cpu.New(), class}, nil }}},
		Say:     func(line string) { o.said = append(o.said, line) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func loaded(t *testing.T, e *engine.Engine, sessions int) *engine.Model {
	t.Helper()
	m, err := e.Load(device.Config{Context: 64, Tables: sessions, Pages: sessions, KV: quant.F16, Width: e.Bundle().Width()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// texts continues prompts in parallel sessions.
func texts(t *testing.T, m *engine.Model, temperature float32, guess bool, prompts ...[]int32) (all [][]int32) {
	t.Helper()
	s, err := scheduler.New(m, scheduler.Config{Ahead: 4})
	if err != nil {
		t.Fatal(err)
	}
	all = make([][]int32, len(prompts))
	for i, prompt := range prompts {
		p := sample.Off()
		p.Temperature, p.Seed = temperature, uint64(i+1)
		sampler, err := sample.New(p)
		if err != nil {
			t.Fatal(err)
		}
		r := scheduler.Request{Sampler: sampler, Continuation: scheduler.Continuation{Prompt: prompt, Max: 12, Done: func(r engine.Result, err error) {
			if all[i] = r.Tokens; err != nil || r.Prompt.Tokens+r.Reused != len(prompt) || r.Decode.Tokens != len(r.Tokens)-1 {
				t.Errorf("prompt %d: %+v, %v", i, r, err)
			}
		}}}
		if guess {
			r.Draft = func(*engine.Session) (engine.Drafter, error) { return draft.Default, nil }
		}
		if err := s.Submit(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestWider checks that texts on a GPU continue correctly when an activation exceeds the range of halves:
// every text is the same as with floats from the start. The switch to floats is reported once and remembered.
func TestWider(t *testing.T) {
	path, all := overflowing(t), generated.Bundles()
	for name, c := range map[string]struct {
		temperature float32
		guess       bool
		prompts     [][]int32
	}{
		"one":     {prompts: [][]int32{devicetest.OverflowPrompt}},
		"prompt":  {prompts: [][]int32{{5, devicetest.OverflowToken, 9}}},
		"three":   {prompts: [][]int32{{1, 2, 3}, devicetest.OverflowPrompt, {1, 2, 3, 4, 5, 6, 7, 8}}},
		"sampled": {temperature: 0.3, prompts: [][]int32{{1, 2, 3}, {8, devicetest.OverflowToken}}},
		"drafts":  {guess: true, prompts: [][]int32{devicetest.OverflowPrompt, devicetest.OverflowPrompt[1:]}},
	} {
		t.Run(name, func(t *testing.T) {
			floats := opened{path: path, act: "f32", bundles: all}
			want := texts(t, loaded(t, floats.open(t, plan.ClassApple), 3), c.temperature, c.guess, c.prompts...)
			o := opened{path: path, cache: t.TempDir(), bundles: all}
			e := o.open(t, plan.ClassApple)
			if e.Bundle().Activations != plan.ElemF16 {
				t.Fatalf("%s runs on a GPU", e.Bundle().Name)
			}
			got := texts(t, loaded(t, e, 3), c.temperature, c.guess, c.prompts...)
			if !slices.EqualFunc(got, want, slices.Equal) || len(o.said) != 1 || e.Bundle().Activations != plan.ElemF32 {
				t.Errorf("%v, said %q, with %s; want %v", got, o.said, e.Bundle().Name, want)
			}
			if again := o.open(t, plan.ClassApple); again.Bundle().Activations != plan.ElemF32 {
				t.Errorf("the next time it begins with %s", again.Bundle().Name)
			}
		})
	}
}

// TestWiderSession checks the same for a session that is used directly, and for the other sessions of its
// model.
func TestWiderSession(t *testing.T) {
	o := opened{path: overflowing(t), act: "f16", bundles: generated.Bundles()}
	m := loaded(t, o.open(t, ""), 2)
	other, err1 := m.NewSession()
	s, err2 := m.NewSession()
	if err := errors.Join(err1, err2, other.Sync(context.Background(), []int32{1, 2, 3}, nil), s.Sync(context.Background(), devicetest.OverflowPrompt, nil)); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(devicetest.OverflowToken); err != nil || unusable(s.Logits()) || len(s.Tokens()) != 5 || len(other.Tokens()) != 3 {
		t.Fatalf("%v, timelines of %d and %d tokens", err, len(s.Tokens()), len(other.Tokens()))
	}
	if err := other.Append(4); err != nil || unusable(other.Logits()) {
		t.Errorf("the other: %v", err)
	}
}

func unusable(logits []float32) bool {
	return len(logits) == 0 || slices.ContainsFunc(logits, func(x float32) bool { return x != x })
}

// TestNotWider checks that the text ends with an error, and that nothing is remembered, if the bundle has
// only halves or if floats overflow, too.
func TestNotWider(t *testing.T) {
	all := generated.Bundles()
	halves := slices.DeleteFunc(slices.Clone(all), func(b *plan.Bundle) bool { return b.Activations != plan.ElemF16 })
	o := opened{path: overflowing(t), cache: t.TempDir(), bundles: halves}
	s, err := loaded(t, o.open(t, plan.ClassNVIDIA), 1).NewSession()
	if err != nil {
		t.Fatal(err)
	}
	sampler, err := sample.New(sample.Off())
	if err != nil {
		t.Fatal(err)
	}
	res, err := s.Generate(context.Background(), engine.Request{Prompt: devicetest.OverflowPrompt, Max: 12, Sampler: sampler}, func(int32) bool { return true })
	var mute *engine.NoTokenError
	if !errors.As(err, &mute) || len(res.Tokens) != 6 || len(o.said) > 0 {
		t.Errorf("%v, %v, said %q", err, res.Tokens, o.said)
	}
	if kept, _ := os.ReadDir(o.cache); len(kept) > 0 {
		t.Errorf("%v is kept", kept)
	}
}
