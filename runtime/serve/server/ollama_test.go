package server_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// lines posts a request of Ollama's API and decodes the lines of its answer.
func (s *served) lines(path, body string) (list []map[string]any) {
	s.Helper()
	r, text := s.do("POST", path, body)
	if r.StatusCode != 200 || r.Header.Get("Content-Type") != "application/x-ndjson" {
		s.Fatalf("%s %s: %s %s", path, body, r.Status, text)
	}
	for line := range strings.Lines(text) {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			s.Fatalf("%v in %q", err, line)
		}
		list = append(list, v)
	}
	return list
}

// TestOllama checks requests as Ollama's clients send them.
func TestOllama(t *testing.T) {
	s := serve(t, nil, chats...)
	list := s.lines("/api/chat", `{"model":"tiny:latest","messages":[{"role":"user","content":"Hello"}],"tools":[],"format":"","keep_alive":"5m","options":{"temperature":0,"num_ctx":4096}}`)
	said := ""
	for _, line := range list[:len(list)-1] {
		m := line["message"].(map[string]any)
		said += m["content"].(string)
		if line["done"] != false || line["model"] != "tiny" || m["role"] != "assistant" {
			t.Errorf("%v", line)
		}
	}
	last := list[len(list)-1]
	if said != "Grüezi, how are you?" || last["done"] != true || last["done_reason"] != "stop" || last["eval_count"].(float64) < 10 || last["prompt_eval_duration"].(float64) < 1000 {
		t.Errorf("%q, %v", said, last)
	}
	for _, c := range []struct{ path, body, want string }{
		{"/api/chat", `{"stream":false,"think":false,"messages":[{"role":"user","content":"Hello"}]}`, `"done_reason":"stop"`},
		{"/api/chat", `{"stream":false,"messages":[]}`, `"done_reason":"load"`},
		{"/api/chat", `{"messages":[],"keep_alive":0}`, `"done_reason":"unload"`},
		{"/api/generate", `{"model":"tiny","keep_alive":"0s"}`, `"done_reason":"unload"`},
		{"/api/generate", `{"model":"tiny","keep_alive":"-1m"}`, `"done_reason":"load"`},
		{"/api/generate", `{"stream":false,"prompt":"Quick","raw":true,"options":{"num_ctx":7}}`, `"response":"Do"`},
		{"/api/generate", `{"stream":false,"prompt":"Quick","raw":true,"options":{"num_ctx":7,"num_predict":1}}`, `"response":"D"`},
		{"/api/generate", `{"stream":false,"prompt":"Quick","raw":true,"options":{"num_ctx":3}}`, `"response":"Done."`},
		{"/api/generate", `{"stream":false,"prompt":"Quick","raw":true,"options":{"num_ctx":131072}}`, `"response":"Done."`},
		{"/api/chat", `{"stream":false,"messages":[{"role":"user","content":"Hello"}],"think":false,"options":{"num_ctx":20}}`, `"done_reason":"length"`},
		{"/api/generate", `{"stream":false,"prompt":"Hello","system":"Be kind."}`, `"thinking":"They greet."`},
		{"/api/generate", `{"stream":false,"prompt":"Quick","raw":true,"options":{"stop":["n"]}}`, `"response":"Do"`},
		{"/api/generate", `{"stream":false,"prompt":"a","suffix":"b","options":{"num_predict":2}}`, `"done_reason":"length"`},
		{"/api/generate", `{"stream":false,"prompt":"x","format":{"type":"object","properties":{"a":{"const":1}},"required":["a"],"additionalProperties":false},"think":false}`, `"response":"{`},
		{"/api/show", `{"name":"tiny"}`, `"mla.context_length":1024`},
	} {
		if r, text := s.do("POST", c.path, c.body); r.StatusCode != 200 || !strings.Contains(text, c.want) {
			t.Errorf("%s %s: %s %s; expected %s", c.path, c.body, r.Status, text, c.want)
		}
	}
	for _, c := range []struct{ method, path, body, want string }{
		{"POST", "/api/chat", `{"messages":[{"role":"user","content":"x","images":["aaaa"]}]}`, "messages[0].images"},
		{"POST", "/api/chat", `{"messages":[{"role":"judge","content":"x"}]}`, "judge"},
		{"POST", "/api/chat", `{"messages":7}`, "messages: got a number"},
		{"POST", "/api/chat", `{"think":"hard","messages":[{"role":"user","content":"x"}]}`, "think"},
		{"POST", "/api/generate", `{"prompt":"x","format":"xml"}`, "format"},
		{"POST", "/api/generate", `{"prompt":"x","template":"{{ .Prompt }}"}`, "template"},
		{"POST", "/api/generate", `{"prompt":"x","options":{"temperature":-1}}`, "temperature"},
		{"POST", "/api/generate", `{"prompt":"x","options":{"num_ctx":0}}`, "num_ctx"},
		{"POST", "/api/generate", `{"prompt":"x","keep_alive":"5 minutes"}`, "keep_alive"},
		{"POST", "/api/generate", `{"prompt":"x","keep_alive":[]}`, "keep_alive"},
		{"POST", "/api/embed", `{"input":"x"}`, "embeddings"},
		{"POST", "/api/embeddings", `{"prompt":"x"}`, "embeddings"},
		{"POST", "/api/pull", `{"model":"x"}`, "pull"},
		{"POST", "/api/create", `{"model":"x"}`, "create"},
		{"DELETE", "/api/delete", `{"model":"x"}`, "delete"},
		{"GET", "/api/nothing", "", "there is no GET"},
		{"GET", "/api/chat", "", "wants POST"},
	} {
		r, text := s.do(c.method, c.path, c.body)
		var out map[string]any
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if said, ok := out["error"].(string); r.StatusCode < 400 || r.StatusCode >= 500 || !ok || len(out) != 1 || !strings.Contains(said, c.want) {
			t.Errorf("%s %s %s: %s %s; expected %s", c.method, c.path, c.body, r.Status, text, c.want)
		}
	}
	for path, want := range map[string]string{"/api/tags": `"name":"tiny"`, "/api/ps": `"context_length":1024`, "/api/version": `"version":"0`} {
		if r, text := s.do("GET", path, ""); r.StatusCode != 200 || !strings.Contains(text, want) {
			t.Errorf("%s: %s %s", path, r.Status, text)
		}
	}
}

// TestOllamaCalls checks that calls are returned whole, and that results find their calls without ids.
func TestOllamaCalls(t *testing.T) {
	s := serve(t, nil, chats...)
	const tools = `"tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}}}}},{"type":"function","function":{"name":"now"}}]`
	var calls []any
	for _, line := range s.lines("/api/chat", `{"messages":[{"role":"user","content":"Weather?"}],`+tools+`}`) {
		list, _ := line["message"].(map[string]any)["tool_calls"].([]any)
		calls = append(calls, list...)
	}
	text, err := json.Marshal(calls)
	if err != nil {
		t.Fatal(err)
	}
	if len(calls) != 2 || !strings.Contains(string(text), `"arguments":{"city":"Zürich \"old\"","days":3},"index":0,"name":"weather"`) {
		t.Fatalf("%s", text)
	}
	for _, result := range []string{`"tool_name":"weather"`, `"tool_call_id":"call_0"`, `"role":"tool"`} {
		if result == `"role":"tool"` {
			result = `"content":"12 degrees"`
		}
		body := `{"stream":false,"messages":[{"role":"user","content":"Weather?"},{"role":"assistant","content":"","tool_calls":[{"function":{"name":"weather","arguments":{"city":"Bern"}}}]},{"role":"tool","content":"12 degrees",` + result + `}],` + tools + `}`
		if r, text := s.do("POST", "/api/chat", body); r.StatusCode != 200 || !strings.Contains(text, "It is 12 degrees.") {
			t.Errorf("%s: %s %s", body, r.Status, text)
		}
	}
}
