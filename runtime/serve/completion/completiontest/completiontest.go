// Package completiontest has a fake model that writes given answers, for tests of the packages that use
// completions. Its tokens are bytes and the markers of chat templates.
package completiontest

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"mla/runtime/device"
	"mla/runtime/doctor/fake"
	"mla/runtime/engine"
	"mla/runtime/plan"
	"mla/runtime/text/tokenizer"
)

// control, userDefined and middle are the tokens that are not bytes. The first one ends a text.
var (
	control     = []string{"<|endoftext|>", "[gMASK]", "<sop>", "<|system|>", "<|user|>", "<|assistant|>", "<|observation|>"}
	userDefined = []string{"<think>", "</think>", "<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "<tool_response>", "</tool_response>"}
	middle      = []string{"<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"}
)

// Tokenizer is the tokeniser of the model, with a chat template.
func Tokenizer(template string) (*tokenizer.Tokenizer, error) {
	v := tokenizer.NoTokens()
	v.Model, v.Pre, v.ChatTemplate = "gpt2", "glm4", template
	next := rune(0x100)
	for b := range rune(256) {
		char := b
		if !('!' <= b && b <= '~' || 0xA1 <= b && b <= 0xAC || 0xAE <= b) {
			char = next
			next++
		}
		v.Tokens = append(v.Tokens, string(char))
	}
	v.EOS = len(v.Tokens)
	v.Types = slices.Repeat([]int32{tokenizer.TypeNormal}, len(v.Tokens))
	add := func(kind int32, list []string) {
		v.Tokens, v.Types = append(v.Tokens, list...), append(v.Types, slices.Repeat([]int32{kind}, len(list))...)
	}
	add(tokenizer.TypeControl, control)
	add(tokenizer.TypeUserDefined, userDefined)
	add(tokenizer.TypeControl, middle)
	return tokenizer.New(v)
}

// Answer is the text that the model writes after a prompt that contains To.
type Answer struct{ To, Text string }

// Model is a model that writes answers. In a chat it answers after the last <|assistant|>, in another text
// after Answer.To. Without a matching answer it writes "abc…".
type Model struct {
	Tokenizer *tokenizer.Tokenizer
	Config    device.Config
	Answers   []Answer

	mu    sync.Mutex
	fail  error         // of the next replay
	gone  error         // of all replays
	hang  chan struct{} // the next replay waits until it is closed
	delay time.Duration
	loads int
}

// New returns a model for a number of concurrent requests.
func New(template string, sessions, context int, answers ...Answer) (*Model, error) {
	tok, err := Tokenizer(template)
	if err != nil {
		return nil, err
	}
	cfg := device.Config{Context: context, Tables: sessions, Pages: sessions * plan.Pages(context), Width: 16}
	return &Model{Tokenizer: tok, Config: cfg, Answers: answers}, nil
}

// Fail makes the next replay fail.
func (m *Model) Fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = err
}

// Break makes all replays fail from now on, even after the model is loaded again.
func (m *Model) Break(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gone = err
}

// Hang makes the next replay wait until the channel is closed.
func (m *Model) Hang(until chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hang = until
}

// Slow makes every replay take at least d.
func (m *Model) Slow(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.delay = d
}

// Loads is how often the model was loaded.
func (m *Model) Loads() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.loads
}

// Load is completion.Config.Load.
func (m *Model) Load(context.Context) (*engine.Model, error) {
	r := fake.New(m.Tokenizer.VocabSize(), m.Config)
	r.After = func() {
		m.mu.Lock()
		delay, hang := m.delay, m.hang
		r.Fail, m.fail, m.hang = cmp.Or(m.gone, m.fail), nil, nil
		m.mu.Unlock()
		time.Sleep(delay)
		if hang != nil {
			<-hang
		}
	}
	r.Logits = func(row plan.Row, _ uint64, out []float32) {
		var text strings.Builder
		for _, id := range r.Tokens(row.Table, int(row.NKV)) {
			text.WriteString(m.text(id))
		}
		id := m.Tokenizer.EOS()
		if rest := m.rest(text.String()); rest != "" {
			id = m.Tokenizer.Encode(rest, tokenizer.EncodeOptions{ParseSpecial: true})[0]
		}
		out[id] = 20
		out[(int(id)+1)%len(out)] = 18 // the second most likely token
	}
	m.mu.Lock()
	m.loads++
	m.mu.Unlock()
	return engine.NewModel(r, m.Tokenizer.VocabSize(), m.Config)
}

// text is the text that a token stands for in a prompt.
func (m *Model) text(id int32) string {
	if id >= 256 {
		return m.Tokenizer.TokenText(id)
	}
	return string(m.Tokenizer.TokenBytes(id))
}

// rest is the part of the answer that comes after a text.
func (m *Model) rest(text string) string {
	chat := strings.LastIndex(text, "<|assistant|>")
	for _, a := range m.Answers {
		at := strings.LastIndex(text, a.To)
		if at < 0 {
			continue
		}
		written := text[at+len(a.To):]
		if chat >= 0 {
			if at > chat {
				continue
			}
			written = strings.TrimPrefix(strings.TrimPrefix(text[chat+len("<|assistant|>"):], "<think>"), "</think>")
		}
		if rest, ok := strings.CutPrefix(a.Text, written); ok {
			return rest
		}
		return ""
	}
	return string(rune('a' + len(text)%26))
}
