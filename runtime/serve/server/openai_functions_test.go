package server_test

import (
	"strings"
	"testing"
)

const legacyFunctions = `"functions": [{"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}}, {"name": "now"}]`

// TestFunctions checks calls in the older form of OpenAI's API (functions), whole and in a stream.
func TestFunctions(t *testing.T) {
	s := serve(t, nil, chats...)
	ask := func(user, fields string) string {
		return `{"messages": [{"role": "user", "content": "` + user + `"}], ` + legacyFunctions + fields + `}`
	}
	out := s.answer("/v1/chat/completions", ask("Weather?", ""))
	if at(out, "choices", 0, "finish_reason") != "function_call" || at(out, "choices", 0, "message", "function_call", "name") != "weather" ||
		at(out, "choices", 0, "message", "function_call", "arguments") != `{"city": "Zürich \"old\"", "days": 3}` || at(out, "choices", 0, "message", "tool_calls") != nil {
		t.Errorf("%v", out)
	}
	_, text := s.do("POST", "/v1/chat/completions", ask("Weather?", `, "stream": true`))
	for _, want := range []string{`"function_call":{"name":"weather","arguments":""}`, `"finish_reason":"function_call"`} {
		if !strings.Contains(text, want) || strings.Contains(text, "tool_calls") || strings.Contains(text, `"now"`) {
			t.Errorf("%s: %s", want, text)
		}
	}
	out = s.answer("/v1/chat/completions", ask("Forced?", `, "function_call": {"name": "weather"}`))
	if at(out, "choices", 0, "message", "function_call", "arguments") != `{"city": "Bern"}` {
		t.Errorf("%v", out)
	}
	for fields, want := range map[string]string{`, "function_call": {"name": "fly"}`: "fly", `, "function_call": "must"`: "function_call: ", `, "function_call": 7`: "function_call: ",
		`, "tools": [{"type": "function", "function": {"name": "f"}}]`: "functions: "} {
		if r, text := s.do("POST", "/v1/chat/completions", ask("Forced?", fields)); r.StatusCode != 400 || !strings.Contains(text, want) {
			t.Errorf("%s: %s %s", fields, r.Status, text)
		}
	}
	for _, functions := range []string{`[7]`, `[{"name": "a b"}]`, `{}`} {
		if r, text := s.do("POST", "/v1/chat/completions", `{"messages": [{"role": "user", "content": "x"}], "functions": `+functions+`}`); r.StatusCode != 400 || !strings.Contains(text, "functions") {
			t.Errorf("%s: %s %s", functions, r.Status, text)
		}
	}
}

// TestFunctionHistory checks that the model sees calls and results of this form as it sees tool calls.
func TestFunctionHistory(t *testing.T) {
	prompt, _ := seen(t)
	const called = `{"role": "user", "content": "Hi"}, {"role": "assistant", "content": null, "function_call": {"name": "now", "arguments": "{\"x\": 1}"}}, {"role": "function", "name": "now", "content": "noon"}`
	const want = "<tool_call>now<arg_key>x</arg_key><arg_value>1</arg_value></tool_call><|observation|><tool_response>noon</tool_response>"
	for _, fields := range []string{"", ", " + legacyFunctions} {
		if got := prompt("chat/completions", `{"messages": [`+called+`]`+fields+`}`); !strings.Contains(got, want) {
			t.Errorf("%q", got)
		}
	}
}
