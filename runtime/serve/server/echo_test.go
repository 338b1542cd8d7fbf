package server_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// likely is a choice with its log-probabilities.
type likely struct {
	Text     string
	Finish   string `json:"finish_reason"`
	Logprobs struct {
		Tokens  []string
		Log     []*float64           `json:"token_logprobs"`
		Top     []map[string]float64 `json:"top_logprobs"`
		Offsets []int                `json:"text_offset"`
	}
}

type likelyAnswer struct {
	Choices []likely
	Usage   struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
	}
}

// TestEcho checks that the log-probabilities of a prompt are those that the model gives its tokens one by
// one, and that the answer is the same as without echo.
func TestEcho(t *testing.T) {
	s := tinychat(t)
	ids := []int{}
	var tokenized struct{ Tokens []int }
	s.post("/tokenize", `{"content": "<|user|>27 + 58<|assistant|>"}`, &tokenized)
	ids = append(ids, tokenized.Tokens...)
	ask := func(prompt []int, fields string) (a likelyAnswer) {
		t.Helper()
		list, err := json.Marshal(prompt)
		if err != nil {
			t.Fatal(err)
		}
		s.post("/v1/completions", fmt.Sprintf(`{"prompt": %s, "logprobs": 3, "seed": 5, "temperature": 1 %s}`, list, fields), &a)
		return a
	}
	whole := ask(ids, `, "echo": true, "max_tokens": 6`)
	plain := ask(ids, `, "max_tokens": 6`)
	got, answer := whole.Choices[0], plain.Choices[0]
	n := len(ids)
	if len(got.Logprobs.Log) != n+6 || got.Logprobs.Log[0] != nil || got.Logprobs.Top[0] != nil || whole.Usage != plain.Usage || plain.Usage.Prompt != n {
		t.Fatalf("%+v, usage %+v; without %+v", got, whole.Usage, plain.Usage)
	}
	if !strings.HasSuffix(got.Text, answer.Text) || !slices.Equal(got.Logprobs.Tokens[n:], answer.Logprobs.Tokens) || got.Finish != "length" {
		t.Errorf("%q; without %q", got.Text, answer.Text)
	}
	if at := got.Logprobs.Offsets[n]; got.Text[at:] != answer.Text {
		t.Errorf("the answer begins at %d of %q", at, got.Text)
	}
	// Rows of one batch are rounded otherwise than single ones.
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-3*(1+math.Abs(a)) }
	for i := 1; i < n; i++ {
		one := ask(ids[:i], `, "max_tokens": 1, "ignore_eos": true`).Choices[0].Logprobs
		for token, log := range one.Top[0] {
			if !near(log, got.Logprobs.Top[i][token]) {
				t.Errorf("token %d: %q has %v; after the prompt alone %v", i, token, got.Logprobs.Top[i][token], log)
			}
		}
		if log, ok := one.Top[0][got.Logprobs.Tokens[i]]; ok && !near(log, *got.Logprobs.Log[i]) {
			t.Errorf("token %d has %v; expected %v", i, *got.Logprobs.Log[i], log)
		}
	}
	if a := ask(ids, `, "echo": true, "max_tokens": 0`); len(a.Choices[0].Logprobs.Log) != n || a.Usage.Completion != 0 {
		t.Errorf("without an answer: %+v", a)
	}
	if a := ask(ids[:1], `, "echo": true, "max_tokens": 0`); len(a.Choices[0].Logprobs.Log) != 1 {
		t.Errorf("of one token: %+v", a)
	}
	if r, text := s.do("POST", "/v1/completions", `{"prompt": "`+strings.Repeat("~", 3*length)+`", "echo": true, "logprobs": 1}`); r.StatusCode != 400 || !strings.Contains(text, "n_ctx") {
		t.Errorf("%s %s", r.Status, text)
	}
}

// TestEchoStream checks that the prompt is the first piece of a stream, also if it contains stops or tokens
// that end a text.
func TestEchoStream(t *testing.T) {
	s := serve(t, nil, chats...)
	_, text := s.do("POST", "/v1/completions", `{"prompt": "one\n<|endoftext|>Quick", "echo": true, "logprobs": 0, "stop": ["\n"], "stream": true, "return_token_ids": true, "n": 2}`)
	texts, counts, pieces := [2]string{}, [2]int{}, 0
	for line := range strings.Lines(text) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var v struct {
			Choices []struct {
				Index int
				likely
				Tokens []int32 `json:"token_ids"`
			}
		}
		if err := json.Unmarshal([]byte(data), &v); err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		for _, c := range v.Choices {
			texts[c.Index] += c.Text
			counts[c.Index] += len(c.Logprobs.Log)
			pieces += len(c.Tokens)
		}
	}
	var prompt struct{ Tokens []int }
	s.post("/tokenize", `{"content": "one\n<|endoftext|>Quick"}`, &prompt)
	for i := range texts {
		if !strings.HasSuffix(texts[i], "QuickDone.") || !strings.HasPrefix(texts[i], "one\n") || counts[i] != len(prompt.Tokens)+len("Done.") || pieces != 2*len("Done.") {
			t.Errorf("%q with %d log-probabilities, %d ids in all: %.600s", texts[i], counts[i], pieces, text)
		}
	}
}
