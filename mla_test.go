package mla_test

import (
	"context"
	"errors"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mla"
	"mla/runtime/system/npy"
)

// open opens the shipped model on the CPU.
func open(t *testing.T, o mla.Options) *mla.Model {
	t.Helper()
	o.Device = "cpu"
	m, err := mla.Open(tiny, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func session(t *testing.T, m *mla.Model) *mla.Session {
	t.Helper()
	s, err := m.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestOpenErrors: what Open is given is looked at before anything is loaded.
func TestOpenErrors(t *testing.T) {
	for _, tt := range []struct {
		path    string
		options mla.Options
		says    string
	}{
		{"gone.gguf", mla.Options{}, "no such file"},
		{tiny, mla.Options{Device: "tpu"}, `no device "tpu"`},
		{tiny, mla.Options{Device: "cpu", Cache: "q3"}, `the type of the cache is "q3"; expected f16, f32 or q8_0`},
		{tiny, mla.Options{Device: "cpu", Context: 4096}, "this model allows 1 to 2048"},
		{tiny, mla.Options{Device: "cpu", Context: -1}, "this model allows 1 to 2048"},
		{tiny, mla.Options{Device: "cpu", Sessions: 1 << 20}, "a model has it for 1 to"},
		{tiny, mla.Options{Device: "cpu", Bundle: "gone.mla"}, "no such file"},
		{tiny, mla.Options{Device: "cpu", Bundle: "youtu2bapple"}, "youtu2b"},
		{"testdata/models/plm-mini-Q4_K_M.gguf", mla.Options{Device: "cpu"}, "mlagen -gguf"},
	} {
		m, err := mla.Open(tt.path, tt.options)
		if err == nil {
			m.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s %+v: %v; want %q", tt.path, tt.options, err, tt.says)
		}
	}
}

// TestLogits: they are those of the reference. With activations and caches in f32, only the
// order of sums differs, over six layers of 4-bit weights: 1e-3 is the project's bound.
func TestLogits(t *testing.T) {
	file, err := os.Open("testdata/tinyglm.logits.npy")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	want, rows, cols, err := npy.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	tokens := promptTokens(t, "testdata/tinyglm.tokens")
	m := open(t, mla.Options{Cache: "f32", Context: 512})
	if cols != m.VocabSize() || rows > len(tokens) {
		t.Fatalf("%d rows of %d logits for %d tokens and a vocabulary of %d", rows, cols, len(tokens), m.VocabSize())
	}
	s := session(t, m)
	for _, row := range []int{rows - 1, 0, rows / 2} { // there and back on one session
		got, err := s.Logits(context.Background(), tokens[:len(tokens)-rows+row+1])
		if err != nil {
			t.Fatal(err)
		}
		worst := 0.0
		for i, x := range got {
			worst = max(worst, math.Abs(float64(x-want[row*cols+i])))
		}
		if worst > 1e-3 {
			t.Errorf("row %d: off by %g", row, worst)
		}
	}
	if _, err := s.Logits(context.Background(), []int32{-1}); err == nil {
		t.Error("a token that there is not")
	}
}

// promptTokens reads the line "prompt 1 2 3" of a file.
func promptTokens(t *testing.T, path string) (tokens []int32) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	for _, word := range strings.Fields(line)[1:] {
		id, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, int32(id))
	}
	return tokens
}

// TestGenerate: a text ends where it is asked to, and goes on where it stopped.
func TestGenerate(t *testing.T) {
	m := open(t, mla.Options{Sessions: 2, Context: 128})
	s := session(t, m)
	ctx := context.Background()
	whole := ""
	for text, err := range s.Generate(ctx, "func main() {", mla.Generation{Max: 24}) {
		if err != nil {
			t.Fatal(err)
		}
		whole += text
	}
	if last := s.Last(); last.Text != whole || len(last.Tokens) != 24 || last.Reason != mla.Length || last.Prompt != len(m.Tokenize("func main() {")) || last.Elapsed <= 0 {
		t.Errorf("%q: %+v", whole, last)
	}
	if got := m.Detokenize(s.Tokens()); !strings.HasPrefix("func main() {"+whole, got) {
		t.Errorf("the session has %q", got)
	}

	other := session(t, m)
	stop := whole[len(whole)/2 : len(whole)/2+4]
	got := ""
	for text, err := range other.Generate(ctx, "func main() {", mla.Generation{Stop: []string{stop}}) {
		if err != nil {
			t.Fatal(err)
		}
		got += text
	}
	if want, _, _ := strings.Cut(whole, stop); got != want || other.Last().Reason != mla.Stop {
		t.Errorf("%q before %q: %+v; want %q", got, stop, other.Last(), want)
	}

	for text, err := range other.Generate(ctx, "func main() {", mla.Generation{}) {
		got = text
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	if !strings.HasPrefix(whole, got) || other.Last().Reason != mla.Stop {
		t.Errorf("left behind %q: %+v", got, other.Last())
	}

	for _, err := range other.Generate(ctx, "func main() {", mla.Generation{}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if last := other.Last(); last.Reason != mla.ContextFull && last.Reason != mla.Stop || last.Prompt+len(last.Tokens) > 129 {
		t.Errorf("without a limit: %+v", last)
	}
}

// TestGenerateErrors: they are yielded, and leave a session that works.
func TestGenerateErrors(t *testing.T) {
	m := open(t, mla.Options{Context: 32})
	s := session(t, m)
	if _, err := m.NewSession(); err == nil {
		t.Error("a second session of one")
	}
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	hot := mla.Greedy()
	hot.Temperature = -1
	for _, tt := range []struct {
		ctx    context.Context
		prompt string
		g      mla.Generation
		says   string
		reason mla.Reason
	}{
		{canceled, "x", mla.Generation{}, "context canceled", mla.Canceled},
		{context.Background(), "", mla.Generation{}, "the prompt is empty", mla.Failed},
		{context.Background(), strings.Repeat("func ", 100), mla.Generation{}, "do not fit the context of 32", mla.Failed},
		{context.Background(), "x", mla.Generation{Sampling: &hot}, "temperature is -1", mla.Failed},
	} {
		var errs []error
		for _, err := range s.Generate(tt.ctx, tt.prompt, tt.g) {
			errs = append(errs, err)
		}
		if err := errors.Join(errs...); len(errs) != 1 || err == nil || !strings.Contains(err.Error(), tt.says) || s.Last().Reason != tt.reason {
			t.Errorf("%q: %v, %+v; want %q", tt.prompt, errs, s.Last(), tt.says)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = session(t, m)
	for _, err := range s.Generate(context.Background(), "x", mla.Generation{Max: 1}) {
		if err != nil {
			t.Error(err)
		}
	}
}

// TestChat: answers become part of the conversation, also those that are left; what is
// refused does not.
func TestChat(t *testing.T) {
	m := open(t, mla.Options{Context: 48, ChatTemplate: "{% for m in messages %}{{ m.role }} {{ m.content }}\n{% endfor %}"})
	c, err := m.NewChat("tests")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.NewChat(""); err == nil {
		t.Error("a second chat with room for one session")
	}
	say := func(text string, max int) (err error) {
		for _, err = range c.Send(context.Background(), text, mla.Generation{Max: max}) {
			if max == 2 {
				break
			}
		}
		return err
	}
	if err := say("one", 3); err != nil || c.Last().Reason != mla.Length {
		t.Errorf("%v, %+v", err, c.Last())
	}
	if err := say("two", 2); err != nil || c.Last().Reason != mla.Stop || c.Last().Reused == 0 {
		t.Errorf("%v, %+v", err, c.Last())
	}
	before := len(c.Messages)
	if err := say(strings.Repeat("three ", 50), 3); err == nil || len(c.Messages) != before {
		t.Errorf("%v, %v", err, c.Messages)
	}
	var roles []string
	for _, m := range c.Messages {
		roles = append(roles, m.Role)
	}
	if want := []string{mla.System, mla.User, mla.Assistant, mla.User, mla.Assistant}; !slices.Equal(roles, want) {
		t.Errorf("%v", c.Messages)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if m, err = mla.Open(tiny, mla.Options{Device: "cpu", Context: 8}); err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if _, err := m.NewChat(""); err == nil {
		t.Error("a chat without a template")
	}
}

// TestBatch: texts are those of single sessions, and one that fails does not stop the others.
func TestBatch(t *testing.T) {
	m := open(t, mla.Options{Sessions: 2, Context: 64})
	prompts := []string{"func main() {", strings.Repeat("func ", 100), "import (\n", "type T struct {\n"}
	results, err := m.Batch(context.Background(), prompts, mla.Generation{Max: 9})
	if err == nil || !strings.HasPrefix(err.Error(), "prompt 2: ") || strings.Contains(err.Error(), "\n") {
		t.Fatal(err)
	}
	for i, r := range results {
		if i == 1 {
			continue
		}
		s := session(t, m)
		for _, err := range s.Generate(context.Background(), prompts[i], mla.Generation{Max: 9}) {
			if err != nil {
				t.Error(err)
			}
		}
		if want := s.Last(); r.Text != want.Text || r.Text == "" || r.Reason != want.Reason || !slices.Equal(r.Tokens, want.Tokens) {
			t.Errorf("%q: %+v, alone %+v", prompts[i], r, want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	s, other := session(t, m), session(t, m)
	if _, err := m.Batch(context.Background(), prompts[:1], mla.Generation{}); err == nil {
		t.Error("a batch while all sessions are open")
	}
	if err := errors.Join(s.Close(), other.Close()); err != nil {
		t.Error(err)
	}
}
