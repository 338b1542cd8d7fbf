package completion_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"mla/runtime/engine"
	"mla/runtime/serve/completion"
	"mla/runtime/serve/completion/completiontest"
)

// TestWider: where no token can follow a text, all requests at hand go on with another model,
// each where it was, and nobody is told.
func TestWider(t *testing.T) {
	answers := []completiontest.Answer{{To: "Q:", Text: "hello world"}, {To: "long:", Text: "one two three four five six seven eight nine ten"}, {To: "begin", Text: "ok"}}
	for _, mute := range []string{"hello ", "begin"} { // in the midst of an answer, and before the first token
		narrow, wide := model(t, 2, answers...), model(t, 2, answers...)
		narrow.Mute = mute
		narrow.Slow(time.Millisecond) // so that the long one is under way
		asked := 0
		s := run(t, completion.Config{Load: narrow.Load, Tokenizer: narrow.Tokenizer, Queue: 5, Wider: func() (func(context.Context) (*engine.Model, error), error) {
			asked++
			return wide.Load, nil
		}})
		var outcomes []chan outcome
		var requests []completion.Request
		for _, prompt := range []string{"begin", "begin", "Q:", "Q:", "long:"} { // the last wait for a session
			r, done := request(narrow.Tokenizer, prompt, 40)
			requests, outcomes = append(requests, r), append(outcomes, done)
		}
		if err := s.Start(context.Background(), requests...); err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{"ok", "ok", "hello world", "hello world", "one two three four five six seven eight "} {
			o := <-outcomes[i]
			if o.err != nil || o.text != want || len(o.result.Tokens) != len(want) || o.result.Prompt.Tokens+o.result.Reused != len(requests[i].Prompt) {
				t.Errorf("%s: %q, %d tokens, %+v, %v", mute, o.text, len(o.result.Tokens), o.result, o.err)
			}
		}
		if asked != 1 || narrow.Loads() != 1 || wide.Loads() != 1 {
			t.Errorf("%s: asked %d times, loaded %d and %d times", mute, asked, narrow.Loads(), wide.Loads())
		}
		if n := s.Stats().Failures; n != 0 {
			t.Errorf("%d failures of the device", n)
		}
	}
}

// TestNotWider: without another model, or one that can be loaded, the request ends with the
// reason, and the others go on.
func TestNotWider(t *testing.T) {
	none := errors.New("none")
	for name, wider := range map[string]completion.Wider{
		"none":      nil,
		"no bundle": func() (func(context.Context) (*engine.Model, error), error) { return nil, none },
		"not loadable": func() (func(context.Context) (*engine.Model, error), error) {
			return func(context.Context) (*engine.Model, error) { return nil, none }, nil
		},
	} {
		m := model(t, 2, completiontest.Answer{To: "Q:", Text: "hello world"}, completiontest.Answer{To: "P:", Text: "fine"})
		m.Mute = "hello "
		s := run(t, completion.Config{Load: m.Load, Tokenizer: m.Tokenizer, Wider: wider, Retry: time.Millisecond})
		for range 2 {
			r, done := request(m.Tokenizer, "Q:", 40)
			if err := s.Start(context.Background(), r); err != nil {
				t.Fatal(err)
			}
			var mute *engine.NoTokenError
			if o := <-done; o.text != "hello " || !errors.As(o.err, &mute) && !errors.Is(o.err, none) {
				t.Errorf("%s: %q, %v", name, o.text, o.err)
			}
			wait(t, s, completion.Ready)
		}
		r, done := request(m.Tokenizer, "P:", 40)
		if err := s.Start(context.Background(), r); err != nil {
			t.Fatal(err)
		}
		if o := <-done; o.err != nil || o.text != "fine" {
			t.Errorf("%s: %+v", name, o)
		}
	}
}
