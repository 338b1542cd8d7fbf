package server_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"mla/runtime/serve/completion"
	"mla/runtime/serve/completion/completiontest"
	"mla/runtime/serve/server"
	"mla/runtime/text/chat"
)

// sections are calls in the format of DeepSeek-V3.1.
var sections = []completiontest.Answer{
	{To: "Broken?<｜Assistant｜>", Text: "Well. <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{\"city\": Bern}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"},
	{To: "Cut?<｜Assistant｜>", Text: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{\"city\": \"Be"},
	{To: "Good?<｜Assistant｜>", Text: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{\"city\": \"Bern\"}<｜tool▁call▁end｜><｜tool▁call▁begin｜>now<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"},
}

// useTemplate makes a server use a chat template.
func useTemplate(t *testing.T, file string) func(*server.Config, *completion.Config) {
	t.Helper()
	template, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	renderer, err := chat.For(string(template), chat.Hints{})
	if err != nil {
		t.Fatal(err)
	}
	return func(c *server.Config, _ *completion.Config) { c.Chat = renderer }
}

const twoTools = `"tools": [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}, {"type": "function", "function": {"name": "now"}}]`

// told is the sum of the pieces of a chat's stream.
type told struct{ content, calls, finish string }

func (s *served) streamedChat(body string) (out told) {
	s.Helper()
	_, text := s.do("POST", "/v1/chat/completions", body)
	for line := range strings.Lines(text) {
		data, ok := strings.CutPrefix(line, "data: {")
		var v any
		if !ok || json.Unmarshal([]byte("{"+data), &v) != nil {
			continue
		}
		add := func(to *string, path ...any) {
			piece, _ := at(v, append([]any{"choices", 0}, path...)...).(string)
			*to += piece
		}
		add(&out.content, "delta", "content")
		add(&out.calls, "delta", "tool_calls", 0, "function", "name")
		add(&out.calls, "delta", "tool_calls", 0, "function", "arguments")
		add(&out.finish, "finish_reason")
	}
	return out
}

// TestStreamedBrokenCalls checks that malformed calls are text in a stream, too.
func TestStreamedBrokenCalls(t *testing.T) {
	s := serve(t, useTemplate(t, "../../text/chat/testdata/tools/sections.jinja"), sections...)
	for user, want := range map[string]told{
		"Broken?": {content: "Well.<｜tool▁call▁begin｜>weather<｜tool▁sep｜>{\"city\": Bern}<｜tool▁call▁end｜>", finish: "stop"},
		"Cut?":    {content: "<｜tool▁call▁begin｜>weather<｜tool▁sep｜>{\"city\": \"Be", finish: "stop"},
		"Good?":   {calls: `weather{"city": "Bern"}now{}`, finish: "tool_calls"},
	} {
		body := `{"max_tokens": 500, "messages": [{"role": "user", "content": "` + user + `"}], ` + twoTools
		if got := s.streamedChat(body + `, "stream": true}`); got != want {
			t.Errorf("%s: %+v; expected %+v", user, got, want)
		}
		if got := at(s.answer("/v1/chat/completions", body+`}`), "choices", 0, "message", "content"); got != want.content {
			t.Errorf("%s, whole: %q; expected %q", user, got, want.content)
		}
	}
}

// TestStreamedTornCalls checks that pieces of GLM's calls are passed on as they come, and that a call which
// breaks off ends as a cut answer.
func TestStreamedTornCalls(t *testing.T) {
	s := serve(t, nil, chats...)
	body := `{"max_tokens": 500, "messages": [{"role": "user", "content": "Cut?"}], ` + twoTools + `, "stream": true}`
	if got := s.streamedChat(body); got.finish != "length" || !strings.HasPrefix(got.calls, "weather{") {
		t.Errorf("%+v", got)
	}
}

// TestSpentBudget checks that a model whose thoughts were cut may end them once more, which is not shown.
func TestSpentBudget(t *testing.T) {
	s := serve(t, nil, completiontest.Answer{To: "Think?", Text: "They</think> greet.\n</think>Hi."})
	out := s.answer("/v1/chat/completions", `{"messages": [{"role": "user", "content": "Think?"}], "reasoning_budget": 4}`)
	if got := at(out, "choices", 0, "message", "content"); got != " greet.\nHi." || at(out, "choices", 0, "message", "reasoning_content") != "They" {
		t.Errorf("%v", out)
	}
}
