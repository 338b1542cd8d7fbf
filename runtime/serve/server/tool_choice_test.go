package server_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mla/runtime/serve/completion/completiontest"
)

// TestToollessTemplate checks that tools are left out if the template does not show them to the model, unless
// the request demands a call.
func TestToollessTemplate(t *testing.T) {
	template, err := os.ReadFile("../../text/chat/testdata/tools/sections.jinja")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(template), "\n") // the first line has the tools
	file := filepath.Join(t.TempDir(), "toolless.jinja")
	if err := os.WriteFile(file, []byte("{{ bos_token }}\n"+rest), 0o600); err != nil || !ok {
		t.Fatal(ok, err)
	}
	s := serve(t, useTemplate(t, file), sections...)
	body := `{"max_tokens": 5, "messages": [{"role": "user", "content": "Good?"}], ` + twoTools
	for _, path := range []string{"/v1/chat/completions", "/apply-template"} {
		if r, text := s.do("POST", path, body+`}`); r.StatusCode != 200 {
			t.Errorf("%s: %s %s", path, r.Status, text)
		}
		if r, text := s.do("POST", path, body+`, "tool_choice": "required"}`); r.StatusCode != 400 || !strings.Contains(text, "does not show tools") || !strings.Contains(text, `"param":"tools"`) {
			t.Errorf("%s: %s %s", path, r.Status, text)
		}
	}
	if r, text := s.do("POST", "/v1/chat/completions", body+`, "tool_choice": "none"}`); r.StatusCode != 200 {
		t.Errorf("tools that may not be called: %s %s", r.Status, text)
	}
}

// choosing are answers with calls of two tools.
var choosing = []completiontest.Answer{
	{To: "Named?", Text: "<tool_call>weather<arg_key>city</arg_key><arg_value>Bern</arg_value></tool_call><tool_call>now</tool_call>"},
	{To: "Free?", Text: "x</think><tool_call>now</tool_call><tool_call>weather<arg_key>city</arg_key><arg_value>Bern</arg_value></tool_call>"},
}

// called returns the names of the tools that an answer of any API calls.
func called(answer map[string]any) (names []string) {
	calls, _ := at(answer, "choices", 0, "message", "tool_calls").([]any)
	for _, c := range calls {
		name, _ := at(c, "function", "name").(string)
		names = append(names, name)
	}
	for _, list := range []string{"output", "content"} {
		items, _ := at(answer, list).([]any)
		for _, item := range items {
			if name, ok := at(item, "name").(string); ok {
				names = append(names, name)
			}
		}
	}
	return names
}

// TestToolChoice checks that only the tools of the choice are called, in all APIs.
func TestToolChoice(t *testing.T) {
	s := serve(t, nil, choosing...)
	const schema = `{"type": "object", "properties": {"city": {"type": "string", "enum": ["Bern", "Zug"]}}, "required": ["city"], "additionalProperties": false}`
	const chat = `"tools": [{"type": "function", "function": {"name": "weather", "parameters": ` + schema + `}}, {"type": "function", "function": {"name": "now"}}]`
	const responses = `"tools": [{"type": "function", "name": "weather", "parameters": ` + schema + `}, {"type": "function", "name": "now"}]`
	const messages = `"tools": [{"name": "weather", "input_schema": ` + schema + `}, {"name": "now"}]`
	ask := func(path, user, fields string) map[string]any {
		body := `"max_tokens": 400, "messages": [{"role": "user", "content": "` + user + `"}]`
		if path == "responses" {
			body = `"max_output_tokens": 400, "input": "` + user + `"`
		}
		return s.answer("/v1/"+path, `{`+body+`, `+fields+`}`)
	}
	for _, c := range []struct {
		path, user, fields string
		want               string // the only tool that is called
	}{
		{"chat/completions", "Named?", chat + `, "tool_choice": {"type": "function", "function": {"name": "weather"}}`, "weather"},
		{"responses", "Named?", responses + `, "tool_choice": {"type": "function", "name": "weather"}`, "weather"},
		{"messages", "Named?", messages + `, "tool_choice": {"type": "tool", "name": "weather"}`, "weather"},
		{"chat/completions", "Free?", chat + `, "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "weather"}}]}}`, "weather"},
		{"responses", "Free?", responses + `, "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "weather"}]}`, "weather"},
		{"responses", "Free?", responses + `, "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "web_search"}, {"type": "function", "name": "weather"}]}`, "weather"},
		{"chat/completions", "Named?", chat + `, "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [{"type": "function", "function": {"name": "now"}}]}}`, "now"},
	} {
		names := called(ask(c.path, c.user, c.fields))
		if len(names) == 0 || slices.ContainsFunc(names, func(name string) bool { return name != c.want }) {
			t.Errorf("%s %s: called %q", c.path, c.fields, names)
		}
	}
	for _, choice := range []string{`{"type": "none"}`, `"none"`} {
		if names := called(ask("chat/completions", "Free?", chat+`, "tool_choice": `+choice)); len(names) > 0 {
			t.Errorf("%s: %q", choice, names)
		}
	}
	if names := called(ask("chat/completions", "Free?", chat)); !slices.Equal(names, []string{"now", "weather"}) {
		t.Errorf("without a choice: %q", names)
	}
	for choice, want := range map[string]string{
		`{"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}`:                                                    "has no tools",
		`{"type": "allowed_tools", "allowed_tools": {"mode": "any", "tools": [{"type": "function", "function": {"name": "now"}}]}}`:    `\"any\"; expected auto or required`,
		`{"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "later"}}]}}`: `no tool \"later\"`,
		`{"type": "function", "function": {"name": "later"}}`:                                                                          `no tool \"later\"`,
		`{"type": "web_search"}`: `a tool of type \"web_search\" runs only at its own service`,
		`{"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"type": "web_search"}]}}`: "none that can be called",
		`7`:      "expected auto, none, required",
		`"some"`: "expected auto, none, required",
	} {
		r, text := s.do("POST", "/v1/chat/completions", `{"messages": [{"role": "user", "content": "x"}], `+chat+`, "tool_choice": `+choice+`}`)
		if r.StatusCode != 400 || !strings.Contains(text, want) || !strings.Contains(text, `"param":"tool_choice"`) {
			t.Errorf("%s: %s %s", choice, r.Status, text)
		}
	}
}
