package server_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// idChoice is a choice of a completion with the ids of its tokens.
type idChoice struct {
	Text   string  `json:"text"`
	Index  int     `json:"index"`
	Finish *string `json:"finish_reason"`
	Tokens []int32 `json:"token_ids"`
	Prompt []int32 `json:"prompt_token_ids"`
}

type idAnswer struct {
	Choices []idChoice `json:"choices"`
	Usage   *struct {
		Tokens int `json:"completion_tokens"`
	} `json:"usage"`
}

// detokenized returns the text of tokens, by the server's own endpoint.
func (s *served) detokenized(tokens []int32) string {
	s.Helper()
	list, err := json.Marshal(map[string]any{"tokens": tokens})
	if err != nil {
		s.Fatal(err)
	}
	var out struct{ Content string }
	s.post("/detokenize", string(list), &out)
	return out.Content
}

// TestTokenIDs checks that completions have the ids of their tokens and of the prompt. A stream has a piece
// for every token, also for one within a character or within a possible stop.
func TestTokenIDs(t *testing.T) {
	s := serve(t, nil, chats...)
	const body = `{"prompt": ["Hello", "Quick"], "n": 2, "max_tokens": 64, "temperature": 0, "stop": ["you!"], "return_token_ids": true`
	var whole idAnswer
	s.post("/v1/completions", body+`}`, &whole)
	if len(whole.Choices) != 4 {
		t.Fatalf("%d choices", len(whole.Choices))
	}
	total := 0
	for i, c := range whole.Choices {
		total += len(c.Tokens)
		if got := s.detokenized(c.Tokens); got != c.Text || got == "" {
			t.Errorf("choice %d: the tokens are %q, the text %q", i, got, c.Text)
		}
		if got, want := s.detokenized(c.Prompt), []string{"Hello", "Quick"}[i/2]; got != want {
			t.Errorf("choice %d: the prompt's tokens are %q; expected %q", i, got, want)
		}
	}
	if total != whole.Usage.Tokens {
		t.Errorf("%d ids of %d tokens", total, whole.Usage.Tokens)
	}
	if !strings.Contains(whole.Choices[0].Text, "ü") {
		t.Errorf("%q has no character of two tokens", whole.Choices[0].Text)
	}

	got := make([]idChoice, 4)
	_, stream := s.do("POST", "/v1/completions", body+`, "stream": true}`)
	for line := range strings.Lines(stream) {
		text, data := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !data || text == "[DONE]" {
			continue
		}
		var a idAnswer
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		c := a.Choices[0]
		all := &got[c.Index]
		switch {
		case c.Finish == nil && len(c.Tokens) > 1, len(c.Tokens) == 0 && c.Text == "" && c.Finish == nil:
			t.Errorf("a piece %q of %d tokens", c.Text, len(c.Tokens))
		case (len(all.Tokens) == 0) != (len(c.Prompt) > 0):
			t.Errorf("piece %d of choice %d has %d tokens of the prompt", len(all.Tokens), c.Index, len(c.Prompt))
		}
		all.Text, all.Tokens, all.Prompt = all.Text+c.Text, append(all.Tokens, c.Tokens...), append(all.Prompt, c.Prompt...)
	}
	for i, c := range whole.Choices {
		if got[i].Text != c.Text || !slices.Equal(got[i].Tokens, c.Tokens) || !slices.Equal(got[i].Prompt, c.Prompt) {
			t.Errorf("choice %d: the stream has %+v; expected %+v", i, got[i], c)
		}
	}
	if _, text := s.do("POST", "/v1/completions", strings.Replace(body, "true", "false", 1)+`}`); strings.Contains(text, "token_ids") {
		t.Errorf("ids that nobody asked for: %s", text)
	}
}
