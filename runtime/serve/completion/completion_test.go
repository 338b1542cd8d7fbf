package completion_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mla/runtime/engine"
	"mla/runtime/engine/promptcache"
	"mla/runtime/plan"
	"mla/runtime/serve/completion"
	"mla/runtime/serve/completion/completiontest"
	"mla/runtime/serve/scheduler"
	"mla/runtime/text/grammar"
	"mla/runtime/text/guided"
	"mla/runtime/text/sample"
	"mla/runtime/text/tokenizer"
)

// outcome is the result of a request.
type outcome struct {
	text   string
	tokens []completion.Token
	result engine.Result
	err    error
}

// request returns a request that continues a prompt, and a channel for its outcome.
func request(tok *tokenizer.Tokenizer, prompt string, max int) (completion.Request, chan outcome) {
	done := make(chan outcome, 1)
	var o outcome
	return completion.Request{
		Continuation: scheduler.Continuation{
			Prompt: tok.Encode(prompt, tokenizer.EncodeOptions{ParseSpecial: true}),
			Max:    max,
			Stop:   tok.IsEOG,
			Done: func(res engine.Result, err error) {
				o.result, o.err = res, err
				done <- o
			},
		},
		Params:   sample.Off(),
		Logprobs: -1,
		Emit: func(t completion.Token) bool {
			o.text += t.Text
			o.tokens = append(o.tokens, t)
			return true
		},
	}, done
}

// run starts a service, which ends with the test.
func run(t *testing.T, cfg completion.Config) *completion.Service {
	t.Helper()
	s := completion.New(cfg)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if got := s.Stats(); got.State != completion.Closed || got.Pages.InUse != 0 || len(s.Requests()) != 0 {
			t.Errorf("at the end: %+v, %d requests", got, len(s.Requests()))
		}
	})
	wait(t, s, completion.Ready)
	return s
}

func wait(t *testing.T, s *completion.Service, state completion.State) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); s.Stats().State != state; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the service is %+v; expected %s", s.Stats(), state)
		}
	}
}

func model(t *testing.T, sessions int, answers ...completiontest.Answer) *completiontest.Model {
	t.Helper()
	m, err := completiontest.New("", sessions, 512, answers...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestText(t *testing.T) {
	m := model(t, 2, completiontest.Answer{To: "Q:", Text: "Zürich 天气<think>"})
	s := run(t, completion.Config{Load: m.Load, Tokenizer: m.Tokenizer})
	r, done := request(m.Tokenizer, "Q:", 50)
	cut, doneCut := request(m.Tokenizer, "Q:", 2) // in the middle of ü
	if err := s.Start(context.Background(), r, cut); err != nil {
		t.Fatal(err)
	}
	if o := <-done; o.err != nil || o.text != "Zürich 天气<think>" || o.result.Reason != engine.ReasonStop || o.result.Prompt.Tokens != 2 {
		t.Errorf("%+v", o)
	}
	if o := <-doneCut; o.text != "Z\uFFFD" || o.result.Reason != engine.ReasonLength || o.tokens[2].ID != -1 {
		t.Errorf("%+v", o)
	}
	r.Visible = map[int32]bool{m.Tokenizer.EOS(): true}
	r.Stop = func(int32) bool { return false }
	r.Max = 15
	var text strings.Builder
	r.Emit = func(t completion.Token) bool { text.WriteString(t.Text); return t.ID != m.Tokenizer.EOS() }
	if err := s.Start(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	if <-done; text.String() != "Zürich 天气<think><|endoftext|>"[:text.Len()] {
		t.Errorf("%q", text.String())
	}
}

// again guesses the same text as before.
type again []int32

func (a again) Propose(text []int32, n int) []int32 {
	if len(text) > len(a) {
		return nil
	}
	return a[len(text):min(len(text)+n, len(a))]
}

// TestDrafts checks that a service uses guesses, and that it counts how many of them were right.
func TestDrafts(t *testing.T) {
	const answer = "what is said twice is said twice"
	m := model(t, 1, completiontest.Answer{To: "Q:", Text: answer})
	text := again(m.Tokenizer.Encode("Q:"+answer, tokenizer.EncodeOptions{}))
	s := run(t, completion.Config{Load: m.Load, Tokenizer: m.Tokenizer, Draft: func(*engine.Session) (engine.Drafter, error) { return text, nil }})
	r, done := request(m.Tokenizer, "Q:", 50)
	if err := s.Start(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	if o := <-done; o.err != nil || o.text != answer || o.result.Accepted == 0 || o.result.Accepted > o.result.Drafted {
		t.Errorf("%+v", o)
	}
	r, done = request(m.Tokenizer, "Q:", 50)
	r.Logprobs = 1 // of a token that is picked before the one in front of it was handed over there would be none
	if err := s.Start(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	if o := <-done; o.err != nil || o.text != answer || o.result.Drafted != 0 {
		t.Errorf("%+v", o)
	}
}

func TestLogprobs(t *testing.T) {
	m := model(t, 1, completiontest.Answer{To: "Q:", Text: "ab"})
	s := run(t, completion.Config{Load: m.Load, Tokenizer: m.Tokenizer})
	r, done := request(m.Tokenizer, "Q:", 1)
	r.Logprobs = 2
	if err := s.Start(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	o := <-done
	if o.err != nil || len(o.tokens) != 1 {
		t.Fatalf("%+v", o)
	}
	// One logit is 20, one 18, the others 0.
	norm := math.Log(math.Exp(20) + math.Exp(18) + float64(m.Tokenizer.VocabSize()-2))
	got := o.tokens[0].Logprob
	if got.ID != 'a'-33 && m.Tokenizer.TokenText(got.ID) != "a" || math.Abs(got.Log-(20-norm)) > 1e-9 || len(got.Top) != 2 || got.Top[0].ID != got.ID || math.Abs(got.Top[1].Log-(18-norm)) > 1e-9 {
		t.Errorf("%+v; expected %v", got, 20-norm)
	}
}

func TestBusy(t *testing.T) {
	m := model(t, 1)
	m.Slow(time.Millisecond)
	s := run(t, completion.Config{Load: m.Load, Tokenizer: m.Tokenizer, Queue: 1})
	ctx, cancel := context.WithCancelCause(context.Background())
	r, done := request(m.Tokenizer, "Q:", -1)
	for range 2 {
		if err := s.Start(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	var busy *completion.BusyError
	if err := s.Start(ctx, r); !errors.As(err, &busy) || busy.RetryAfter < time.Second {
		t.Errorf("%v", err)
	}
	if got := s.Requests(); len(got) != 2 || got[0].Prompt != 2 {
		t.Errorf("%+v", got)
	}
	gone := errors.New("gone")
	cancel(gone)
	for range 2 {
		if o := <-done; !errors.Is(o.err, gone) {
			t.Errorf("%v", o.err)
		}
	}
	// Those of one call are taken in together, also if they are more than may wait, and nobody
	// else until they are fewer.
	ctx, cancel = context.WithCancelCause(context.Background())
	if err := s.Start(ctx, r, r, r); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(ctx, r); !errors.As(err, &busy) {
		t.Errorf("%v", err)
	}
	cancel(gone)
	for range 3 {
		<-done
	}
	if got := s.Requests(); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

// TestDeviceFails checks that the running requests fail with the reason, and that the model is loaded again.
func TestDeviceFails(t *testing.T) {
	m := model(t, 2, completiontest.Answer{To: "Q:", Text: "ok"})
	s := run(t, completion.Config{Load: m.Load, Tokenizer: m.Tokenizer, Queue: 4, Retry: 300 * time.Millisecond})
	lost := errors.New("lost")
	m.Fail(lost)
	r, done := request(m.Tokenizer, "Q:", -1)
	if err := s.Start(context.Background(), r, r, r); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if o := <-done; !errors.Is(o.err, lost) {
			t.Errorf("%+v", o)
		}
	}
	wait(t, s, completion.Failed)
	var not *completion.UnavailableError
	if err := s.Start(context.Background(), r); !errors.As(err, &not) || !strings.Contains(err.Error(), "lost") {
		t.Errorf("%v", err)
	}
	wait(t, s, completion.Ready)
	r, done = request(m.Tokenizer, "Q:", -1)
	if err := s.Start(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	if o := <-done; o.err != nil || o.text != "ok" || m.Loads() != 2 || s.Stats().Failures != 1 {
		t.Errorf("%+v, loaded %d times, %+v", o, m.Loads(), s.Stats())
	}
}

// TestStartWhileFailing checks that a request which is accepted while the others are failing fails, too.
func TestStartWhileFailing(t *testing.T) {
	m := model(t, 1)
	s := run(t, completion.Config{Load: m.Load, Tokenizer: m.Tokenizer, Queue: 4, Retry: time.Millisecond})
	lost := errors.New("lost")
	m.Fail(lost)
	late, lateDone := request(m.Tokenizer, "Q:", 5)
	r, done := request(m.Tokenizer, "Q:", 5)
	first := r.Done
	r.Done = func(res engine.Result, err error) {
		if err := s.Start(context.Background(), late); err != nil {
			t.Error(err)
		}
		first(res, err)
	}
	if err := s.Start(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	if o := <-done; !errors.Is(o.err, lost) {
		t.Errorf("%v", o.err)
	}
	select {
	case o := <-lateDone:
		if !errors.Is(o.err, lost) {
			t.Errorf("%v", o.err)
		}
	case <-time.After(10 * time.Second):
		t.Error("a request was forgotten")
	}
}

func TestDoesNotLoad(t *testing.T) {
	lost := errors.New("lost")
	s := completion.New(completion.Config{Load: func(context.Context) (*engine.Model, error) { return nil, lost }})
	if err := s.Run(context.Background()); !errors.Is(err, lost) || s.Stats().State != completion.Closed {
		t.Errorf("%v", err)
	}
}

// TestClose checks that running requests end, and that later ones are not accepted.
func TestClose(t *testing.T) {
	m := model(t, 1)
	m.Slow(time.Millisecond)
	s := completion.New(completion.Config{Load: m.Load, Tokenizer: m.Tokenizer, Queue: 4})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	r, done := request(m.Tokenizer, "Q:", -1)
	wait(t, s, completion.Ready)
	if err := s.Start(context.Background(), r, r); err != nil {
		t.Fatal(err)
	}
	cancel()
	for range 2 {
		if o := <-done; o.err == nil || !strings.Contains(o.err.Error(), "shutting down") {
			t.Errorf("%v", o.err)
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	var not *completion.UnavailableError
	if err := s.Start(context.Background(), r); !errors.As(err, &not) || not.State != completion.Closed {
		t.Errorf("%v", err)
	}
}

// TestPrompts checks that the next service finds the prompts in the caches.
func TestPrompts(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "notes.txt")
	damaged := filepath.Join(dir, "x.mlaprompt")
	for _, path := range []string{other, damaged} {
		if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := model(t, 2, completiontest.Answer{To: "Q:", Text: "ok"})
	key := func(*engine.Model) (promptcache.Key, error) {
		return promptcache.Key{File: "f", KV: "f16", Layers: 1, Planes: plan.Planes{12}}, nil
	}
	long := strings.Repeat("x", 300) + "Q:"
	for i, want := range []int{0, 256, 256} {
		s := completion.New(completion.Config{Load: m.Load, Tokenizer: m.Tokenizer, Prompts: &completion.Prompts{Dir: dir, Key: key, Max: 1}})
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error)
		go func() { ended <- s.Run(ctx) }()
		wait(t, s, completion.Ready)
		r, done := request(m.Tokenizer, long, 5)
		if err := s.Start(ctx, r); err != nil {
			t.Fatal(err)
		}
		if o := <-done; o.err != nil || o.result.Reused != want || o.text != "ok" {
			t.Errorf("round %d: %+v", i, o)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	for _, path := range []string{other, damaged} {
		if data, err := os.ReadFile(path); err != nil || string(data) != "mine" {
			t.Errorf("%s: %q, %v", path, data, err)
		}
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*.mlaprompt")); len(files) != 2 {
		t.Errorf("%q", files)
	}
}

// TestDraftsWithGrammar checks guesses with a grammar. The mask after a guess differs from the mask before
// it, and the guide knows it only after the token was passed to it.
func TestDraftsWithGrammar(t *testing.T) {
	const answer = "what is said twice is said twice"
	m := model(t, 1, completiontest.Answer{To: "Q:", Text: answer})
	text := again(m.Tokenizer.Encode("Q:"+answer, tokenizer.EncodeOptions{}))
	s := run(t, completion.Config{Load: m.Load, Tokenizer: m.Tokenizer, Draft: func(*engine.Session) (engine.Drafter, error) { return text, nil }})
	rules, err := grammar.ParseGBNF(`root ::= "what is said " ("twice" | "once") " is " [a-z]+ " once"`)
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := grammar.Compile(t.Context(), rules, guided.Vocabulary(m.Tokenizer, m.Tokenizer.IsEOG))
	if err != nil {
		t.Fatal(err)
	}
	for range 20 { // the first ones find out what steps take
		r, done := request(m.Tokenizer, "Q:", 50)
		matcher := compiled.NewMatcher()
		r.Guide = func() *grammar.Matcher { return matcher }
		emit := r.Emit
		r.Emit = func(token completion.Token) bool {
			if err := matcher.Accept(token.ID); err != nil {
				t.Errorf("after the text so far: %v", err)
				return false
			}
			return emit(token) && !matcher.MustEnd()
		}
		if err := s.Start(context.Background(), r); err != nil {
			t.Fatal(err)
		}
		if o := <-done; o.err != nil || o.text != "what is said twice is said once" {
			t.Fatalf("%q, %v, %d guesses", o.text, o.err, o.result.Drafted)
		}
	}
}
