// Package fuzz has the fuzz target of the server's handlers. It lies apart from the server's
// other tests because these need clients and a browser: all that a target is linked with is
// instrumented, which would take minutes.
package fuzz

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"mla/runtime/serve/completion"
	"mla/runtime/serve/completion/completiontest"
	"mla/runtime/serve/server"
	"mla/runtime/text/chat"
	"mla/runtime/text/sample"
)

// FuzzHandlers checks that every body is answered, at worst as a bad request.
func FuzzHandlers(f *testing.F) {
	paths := []string{"/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens", "/tokenize", "/detokenize", "/apply-template", "/completion", "/infill", "/api/chat", "/api/generate", "/api/show", "/v1/responses/input_tokens"}
	for i, body := range []string{
		`{"messages": [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}], "tools": [{"type": "function", "function": {"name": "now"}}], "tool_choice": "required", "max_tokens": 3, "logit_bias": {"5": -100}}`,
		`{"prompt": [1, 2], "max_tokens": 3, "logprobs": 2, "stop": "x", "stream": true}`,
		`{"input": [{"role": "user", "content": "x"}, {"type": "function_call", "call_id": "a", "name": "now", "arguments": "{}"}, {"type": "function_call_output", "call_id": "a", "output": "y"}], "max_output_tokens": 3}`,
		`{"max_tokens": 3, "system": "s", "messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "y"}]}, {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "now", "input": {"a": [1.5]}}]}]}`,
		`{"messages": []}`, `{"content": "<think>", "with_pieces": true}`, `{"tokens": [1, 2]}`, `{"messages": [{"role": "user"}]}`,
		`{"prompt": [1, "a", 2], "n_predict": 3, "samplers": ["top_k"], "logit_bias": [[5, false], ["a", 1]], "n_probs": 1, "response_fields": ["content", "timings/prompt_n"], "n_indent": 2}`,
		`{"input_prefix": "a", "input_suffix": "b", "input_extra": [{"filename": "f", "text": "t"}], "n_predict": 3, "stream": true}`,
		`{"messages": [{"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "now", "arguments": {}}}]}, {"role": "tool", "content": "x"}], "options": {"num_predict": 3}, "think": true}`,
		`{"prompt": "x", "raw": true, "format": "json", "options": {"num_predict": 3, "stop": ["a"]}}`, `{"name": "x"}`, `{"input": "x"}`,
	} {
		f.Add(uint8(i), body)
	}
	for path, body := range map[uint8]string{ // others of the same paths
		0:  `{"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "function_call": {"name": "now", "arguments": "{"}}, {"role": "function", "name": "now", "content": "y"}], "functions": [{"name": "now"}], "function_call": {"name": "now"}, "max_tokens": 3}`,
		1:  `{"prompt": "Hello <think>", "echo": true, "logprobs": 1, "max_tokens": 2, "stream": true, "n": 2}`,
		2:  `{"input": "x", "tools": [{"type": "web_search"}], "tool_choice": {"type": "web_search"}}`,
		3:  `{"max_tokens": 3, "output_format": {"type": "json_schema", "schema": {"uniqueItems": true}}, "messages": [{"role": "user", "content": "x"}]}`,
		5:  `{"content": ["a", 98, ""]}`,
		10: `{"messages": [], "keep_alive": "-1.5h", "options": {"num_ctx": 1}}`,
	} {
		f.Add(path, body)
	}
	handler := bare(f)
	f.Fuzz(func(t *testing.T, path uint8, body string) {
		r, err := http.NewRequest("POST", paths[int(path)%len(paths)], strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		w := &httptest.ResponseRecorder{HeaderMap: http.Header{}, Body: &bytes.Buffer{}} // Code is 0 as long as nothing is answered
		handler.ServeHTTP(w, r.WithContext(ctx))
		if w.Code >= 500 && ctx.Err() == nil && w.Code != 503 {
			t.Errorf("%d: %s", w.Code, w.Body)
		}
		if w.Code == 0 {
			t.Error("no answer")
		}
	})
}

// bare returns a server's handler without a listener.
func bare(t testing.TB) http.Handler {
	t.Helper()
	template, err := os.ReadFile("../../../text/chat/testdata/glm-4.7-flash.jinja")
	if err != nil {
		t.Fatal(err)
	}
	m, err := completiontest.New(string(template), 4, 1024,
		completiontest.Answer{To: "Hello", Text: "They greet.</think>Grüezi, how are you?"},
		completiontest.Answer{To: "x", Text: "I ask.</think>One moment.\n<tool_call>now<arg_key>a</arg_key><arg_value>b</arg_value></tool_call>"})
	if err != nil {
		t.Fatal(err)
	}
	renderer, err := chat.For(string(template), chat.Hints{})
	if err != nil {
		t.Fatal(err)
	}
	cfg := server.Config{Model: "tiny", Context: 1024, Chat: renderer, Sampling: sample.Off(),
		Service: completion.New(completion.Config{Load: m.Load, Tokenizer: m.Tokenizer, Queue: 16, Retry: 20 * time.Millisecond})}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- cfg.Service.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	for cfg.Service.Stats().State != completion.Ready {
		time.Sleep(time.Millisecond)
	}
	return server.New(cfg)
}
