package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestBegunAnswer checks that a last message of the assistant is the beginning of the answer, in every API,
// up to its last space, and that the answer is the text after it.
func TestBegunAnswer(t *testing.T) {
	s := serve(t, nil, chats...)
	begin := func(path, messages, more string) string {
		t.Helper()
		field := map[string]string{"/v1/responses": "input"}[path]
		if field == "" {
			field = "messages"
		}
		r, text := s.do("POST", path, fmt.Sprintf(`{"max_tokens": 100, %q: [%s]%s}`, field, messages, more))
		var out struct {
			Choices []struct{ Message struct{ Content string } }
			Content []struct{ Text string }
			Output  []struct{ Content []struct{ Text string } }
		}
		if err := json.Unmarshal([]byte(text), &out); err != nil || r.StatusCode != http.StatusOK {
			t.Fatalf("%s %s: %v, %s", path, messages, err, text)
		}
		switch {
		case len(out.Choices) == 1:
			return out.Choices[0].Message.Content
		case len(out.Content) == 1:
			return out.Content[0].Text
		case len(out.Output) == 1 && len(out.Output[0].Content) == 1:
			return out.Output[0].Content[0].Text
		}
		return text
	}
	const quick, hello = `{"role": "user", "content": "Quick"}, `, `{"role": "user", "content": "Hello"}, `
	for _, path := range []string{"/v1/chat/completions", "/v1/messages", "/v1/responses"} {
		if got := begin(path, quick+`{"role": "assistant", "content": "Do"}`, `, "continue_final_message": true`); got != "ne." {
			t.Errorf("%s goes on with %q", path, got)
		}
	}
	const chat = "/v1/chat/completions"
	for begun, want := range map[string]string{
		`"reasoning_content": "They greet.", "content": "Grüezi, "`: "how are you?",
		`"reasoning_content": "They greet.", "content": "Grüezi,"`:  " how are you?",
		`"reasoning_content": "They gr", "content": ""`:             "Grüezi, how are you?", // after the rest of the thoughts
		`"content": "<think>They gr"`:                               "Grüezi, how are you?",
		`"content": null`:                                           "Grüezi, how are you?",
	} {
		if got := begin(chat, hello+`{"role": "assistant", `+begun+`}`, ""); got != want {
			t.Errorf("%s goes on with %q; expected %q", begun, got, want)
		}
	}
	if got := begin("/v1/responses", quick+`{"role": "assistant", "content": "Do"}`, `, "reasoning": {"effort": "none"}`); got != "Done." {
		t.Errorf("after an item of the responses API: %q", got)
	}
	if got := begin(chat, quick+`{"role": "assistant", "content": "Do"}`, `, "continue_final_message": false, "reasoning_effort": "none"`); got != "Done." {
		t.Errorf("after a turn of its own: %q", got)
	}
	for more, want := range map[string]string{
		`"response_format": {"type": "json_object"}`: "one in a form cannot be begun",
		`"tool_choice": "required", "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]`: "so that is no call",
	} {
		r, text := s.do("POST", chat, `{"messages": [`+quick+`{"role": "assistant", "content": "{"}], `+more+`}`)
		if !strings.Contains(text, "continue_final_message") {
			t.Errorf("%s: %s does not say what helps", more, text)
		}
		if r.StatusCode != http.StatusBadRequest || !strings.Contains(text, want) {
			t.Errorf("%s: %s %s; expected %q", more, r.Status, text, want)
		}
	}
}
