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
	"mla/runtime/text/sample"
)

// TestRecorded replays requests of agents. It checks that the model calls one of the agent's tools, and that
// the next request returns the call with its result.
func TestRecorded(t *testing.T) {
	template, err := os.ReadFile("../../text/chat/testdata/glm-4.7-flash.jinja")
	if err != nil {
		t.Fatal(err)
	}
	const long = 1 << 13
	m, err := completiontest.New(string(template), sessions, long,
		completiontest.Answer{To: "<tool_response>408", Text: "x</think>It is 408."},
		completiontest.Answer{To: `12 times 34?"`, Text: "x</think><tool_call>calc_multiply<arg_key>a</arg_key><arg_value>12</arg_value><arg_key>b</arg_key><arg_value>34</arg_value></tool_call>"}, // opencode's
		completiontest.Answer{To: "12 times 34?", Text: "x</think><tool_call>mcp__calc__multiply<arg_key>a</arg_key><arg_value>12</arg_value><arg_key>b</arg_key><arg_value>34</arg_value></tool_call>"})
	if err != nil {
		t.Fatal(err)
	}
	renderer, err := chat.For(string(template), chat.Hints{Escape: m.Tokenizer.Escape})
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, server.Config{Model: "tiny", Context: long, Chat: renderer, Sampling: sample.Off()}, completion.Config{Load: m.Load, Tokenizer: m.Tokenizer, Queue: 16})
	for _, c := range []struct {
		file, path, list string
		call             []string // in the first answer
		next             func(text string) string
	}{
		{"claude-code", "/v1/messages", "messages", []string{`"name":"mcp__calc__multiply"`, `"type":"thinking"`, `"stop_reason":"tool_use"`}, func(text string) string {
			id := between(text, `"id":"call_`, `"`)
			return `{"role": "assistant", "content": [{"type": "tool_use", "id": "call_` + id + `", "name": "mcp__calc__multiply", "input": {"b": 34, "a": 12}}]}, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_` + id + `", "content": [{"type": "text", "text": "408"}]}]}`
		}},
		{"codex", "/v1/responses", "input", []string{`"namespace":"mcp__calc"`, `"name":"multiply"`, `"store":false`}, func(text string) string {
			id := between(text, `"call_id":"`, `"`)
			return `{"type": "function_call", "call_id": "` + id + `", "namespace": "mcp__calc", "name": "multiply", "arguments": "{\"a\": 12, \"b\": 34}"}, {"type": "function_call_output", "call_id": "` + id + `", "output": [{"type": "input_text", "text": "408"}]}`
		}},
		{"opencode", "/v1/chat/completions", "messages", []string{`"name":"calc_multiply"`, `"reasoning_content":"x"`, `"finish_reason":"tool_calls"`, `"usage":{"prompt_tokens":`}, func(text string) string {
			id := between(text, `"id":"call_`, `"`)
			return `{"role": "assistant", "content": "", "reasoning_content": "x", "tool_calls": [{"id": "call_` + id + `", "type": "function", "function": {"name": "calc_multiply", "arguments": "{\"a\":12,\"b\":34}"}}]}, {"role": "tool", "tool_call_id": "call_` + id + `", "content": "408"}`
		}},
	} {
		body, err := os.ReadFile("testdata/agents/" + c.file + ".json")
		if err != nil {
			t.Fatal(err)
		}
		r, text := s.do("POST", c.path, string(body))
		for _, want := range c.call {
			if r.StatusCode != 200 || !strings.Contains(text, want) {
				t.Errorf("%s: %s %s; expected %s", c.file, r.Status, text, want)
			}
		}
		var request map[string]json.RawMessage
		if err := json.Unmarshal(body, &request); err != nil {
			t.Fatal(err)
		}
		history := strings.TrimSpace(string(request[c.list]))
		request[c.list] = json.RawMessage(strings.TrimSuffix(history, "]") + ", " + c.next(text) + "]")
		delete(request, "stream")
		if body, err = json.Marshal(request); err != nil {
			t.Fatal(err)
		}
		if r, text = s.do("POST", c.path, string(body)); r.StatusCode != 200 || !strings.Contains(text, "It is 408.") {
			t.Errorf("%s: %s %s", c.file, r.Status, text)
		}
		// All but the last page of what was read and written is found again.
		var out any
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Fatal(err)
		}
		fresh, _ := at(out, "usage", "input_tokens").(float64)
		if c.path == "/v1/responses" {
			cached, _ := at(out, "usage", "input_tokens_details", "cached_tokens").(float64)
			fresh -= cached
		}
		if prompt, ok := at(out, "usage", "prompt_tokens").(float64); ok {
			cached, _ := at(out, "usage", "prompt_tokens_details", "cached_tokens").(float64)
			fresh = prompt - cached
		}
		if fresh > 64+100 {
			t.Errorf("%s: %v tokens were read anew: %s", c.file, fresh, text)
		}
	}
}

// between returns the text between the first occurrence of before and the next occurrence of after.
func between(text, before, after string) string {
	_, text, _ = strings.Cut(text, before)
	text, _, _ = strings.Cut(text, after)
	return text
}
