package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"mla/runtime/engine"
	"mla/runtime/serve/completion"
	"mla/runtime/serve/server"
	"mla/runtime/text/chat"
)

// TestBadRequests checks that the error of a bad request names the wrong field, and that nothing runs.
func TestBadRequests(t *testing.T) {
	s := serve(t, func(c *server.Config, _ *completion.Config) { c.Limits.Body = 1 << 16 }, chats...)
	chat := func(fields string) string { return `{"messages": [{"role": "user", "content": "x"}]` + fields + `}` }
	for _, c := range []struct {
		path, body string
		status     int
		param      string // of the error
		want       string // in it
	}{
		{"chat/completions", "", 400, "", "not a JSON object"},
		{"chat/completions", "[]", 400, "", "not a JSON object"},
		{"chat/completions", "{", 400, "", "unexpected end"},
		{"chat/completions", "{}{}", 400, "", "invalid character"},
		{"chat/completions", "{\"a\": \"\xff\"}", 400, "", "UTF-8"},
		{"chat/completions", `{"a": ` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, 400, "", "more than 100 levels"},
		{"chat/completions", chat(strings.Repeat(" ", 1<<16)), 413, "", "65536 bytes"},
		{"chat/completions", `{}`, 400, "messages", "there is none"},
		{"responses", `{}`, 400, "input", "there is none"},
		{"responses", `{"input": []}`, 400, "input", "there is none"},
		{"chat/completions", chat(`, "max_tokens": 1` + strings.Repeat("0", 5000)), 400, "max_tokens", "00…"},
		{"chat/completions", `{"messages": 7}`, 400, "messages", "messages: got a number; expected a list"},
		{"chat/completions", `{"messages": [{"role": "judge", "content": "x"}]}`, 400, "messages[0].role", `"judge"; expected one of`},
		{"chat/completions", `{"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}`, 400, "messages[0].content", "only text"},
		{"chat/completions", `{"messages": [{"role": "user", "content": 5}]}`, 400, "content", "expected a text"},
		{"chat/completions", `{"messages": [{"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "<x>", "arguments": "{}"}}]}]}`, 400, "messages[0].tool_calls", "name"},
		{"chat/completions", chat(`, "temperature": "hot"`), 400, "temperature", "temperature: got a string; expected a number"},
		{"chat/completions", chat(`, "temperature": -1`), 400, "temperature", "between 0 and 100"},
		{"chat/completions", chat(`, "temperature": 1e999`), 400, "temperature", "temperature: got 1e999; expected a number that fits 64 bits"},
		{"chat/completions", chat(`, "max_tokens": 99999999999999999999`), 400, "max_tokens", "got 99999999999999999999; expected a whole number that fits 64 bits"},
		{"chat/completions", chat(`, "max_tokens": 1.5`), 400, "max_tokens", "got 1.5; expected a whole number"},
		{"chat/completions", chat(`, "max_tokens": []`), 400, "max_tokens", "got a list; expected a whole number"},
		{"chat/completions", chat(`, "stream": {}`), 400, "stream", "got an object; expected true or false"},
		{"chat/completions", chat(`, "stream_options": true`), 400, "stream_options", "got true or false; expected an object"},
		{"chat/completions", chat(`, "grammar": 7`), 400, "grammar", "grammar: got a number; expected a string"},
		{"chat/completions", chat(`, "max_tokens": -2`), 400, "max_tokens", "0 or more"},
		{"chat/completions", chat(`, "n": 1000`), 400, "n", "1 to 16"},
		{"chat/completions", chat(`, "top_k": -2`), 400, "top_k", "between"},
		{"chat/completions", chat(`, "logit_bias": {"99999": 1}`), 400, "logit_bias", "no token"},
		{"chat/completions", chat(`, "logit_bias": {"5": 101}`), 400, "logit_bias", "between -100"},
		{"chat/completions", chat(`, "stop": ["a\u0000"]`), 400, "stop", "without NUL"},
		{"chat/completions", chat(`, "stop": 7`), 400, "stop", "expected"},
		{"chat/completions", chat(`, "top_logprobs": 3`), 400, "top_logprobs", "with logprobs"},
		{"chat/completions", chat(`, "response_format": {"type": "json_schema"}`), 400, "response_format", "no schema"},
		{"chat/completions", chat(`, "tools": [{"function": {"name": "f"}}]`), 400, "tools[0]", "function"},
		{"chat/completions", chat(`, "tools": [{"type": "function", "function": {"name": "a b"}}]`), 400, "tools[0].function.name", "letters"},
		{"chat/completions", chat(`, "tool_choice": "must"`), 400, "tool_choice", "auto"},
		{"chat/completions", chat(`, "tool_choice": "required"`), 400, "tool_choice", "no tools"},
		{"chat/completions", chat(`, "tool_choice": {"type": "function", "function": {"name": "f"}}`), 400, "tool_choice", "no tool"},
		{"chat/completions", `{"messages": [{"role": "user", "content": "` + strings.Repeat("x", length) + `"}]}`, 400, "", "prompt is too long"},
		{"completions", `{}`, 400, "prompt", "nothing to continue"},
		{"completions", `{"prompt": {}}`, 400, "prompt", "expected"},
		{"completions", `{"prompt": [99999]}`, 400, "prompt", "outside the vocabulary"},
		{"completions", `{"prompt": ["x", "z"], "suffix": "y"}`, 400, "suffix", "expected one"},
		{"completions", `{"prompt": ["x", "x"], "n": 9}`, 400, "prompt", "16 answers"},
		{"responses", `{"input": [{"type": "dream"}]}`, 400, "input[0]", "not supported"},
		{"responses", `{"input": 5}`, 400, "input", "expected"},
		{"responses", `{"input": "x", "top_logprobs": 3}`, 400, "top_logprobs", "/v1/chat/completions"},
		{"responses", `{"input": "x", "prompt": {"id": "pmpt_x"}}`, 400, "prompt", "stores no prompts"},
		{"responses", `{"instructions": "x", "input": [{"role": "user", "content": [{"type": "input_image"}]}]}`, 400, "input", "only text"},
		{"chat/completions", chat(`, "logit_bias": [[true, 1]]`), 400, "logit_bias", "expected an object"},
		{"chat/completions", chat(`, "logit_bias": [[null, 1]]`), 400, "logit_bias", "expected an object"},
		{"messages", `{"messages": [{"role": "user", "content": "x"}]}`, 400, "", "max_tokens"},
		{"messages", `{"max_tokens": 5, "messages": [{"role": "judge", "content": "x"}]}`, 400, "", "messages[0].role"},
		{"messages", `{"max_tokens": 5, "messages": [{"role": "user", "content": [{"type": "image"}]}]}`, 400, "", "messages: a part of type"},
		{"messages", `{"max_tokens": 5, "thinking": {"type": "hard"}, "messages": [{"role": "user", "content": "x"}]}`, 400, "", "thinking.type"},
	} {
		r, text := s.do("POST", "/v1/"+c.path, c.body)
		var out struct {
			Type  string
			Error struct {
				Message, Type string
				Param         any
			}
		}
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Errorf("%s %.200s: %v in %s", c.path, c.body, err, text)
		}
		param, _ := out.Error.Param.(string)
		if len(out.Error.Message) > 1000 || r.StatusCode != c.status || param != c.param || !strings.Contains(out.Error.Message, c.want) || (out.Type == "error") != (c.path == "messages") {
			t.Errorf("%s %.200s: %s, param %q, %q; expected %d, %q, %q", c.path, c.body, r.Status, param, out.Error.Message, c.status, c.param, c.want)
		}
	}
	if n := s.service.Stats().Pages.Misses; n != 0 {
		t.Errorf("%d tokens were run", n)
	}
	for _, c := range []struct {
		method, path string
		status       int
	}{{"GET", "/v1/chat/completions", 405}, {"GET", "/v1/messages", 405}, {"OPTIONS", "/v1/messages", 405}, {"POST", "/health", 405}, {"POST", "/v1/nothing", 404}, {"GET", "/v1/models/%2e%2e/x", 404}, {"GET", "/../etc/passwd", 404}, {"DELETE", "/v1/models", 405}, {"GET", "/page/page.go", 404}, {"GET", "/page/..%2fpage.go", 404}, {"POST", "/", 405}, {"GET", "/", 200}} {
		if r, text := s.do(c.method, c.path, ""); r.StatusCode != c.status || (r.Header.Get("Allow") != "") != (c.status == 405) || strings.Contains(text, `"type":"error"`) != strings.HasPrefix(c.path, "/v1/messages") {
			t.Errorf("%s %s: %s %s", c.method, c.path, r.Status, text)
		}
	}
}

// TestNative checks the endpoints that only llama-server has.
func TestNative(t *testing.T) {
	s := serve(t, nil)
	var tokens struct{ Tokens []int32 }
	s.post("/tokenize", `{"content": "a<think>é"}`, &tokens)
	var text struct{ Content string }
	s.post("/detokenize", `{"tokens": `+strings.ReplaceAll(fmt.Sprint(tokens.Tokens), " ", ",")+`}`, &text)
	if len(tokens.Tokens) != 4 || text.Content != "a<think>é" {
		t.Errorf("%v, %q", tokens, text)
	}
	var pieces struct{ Tokens []struct{ Piece string } }
	if s.post("/tokenize", `{"content": "ab", "with_pieces": true}`, &pieces); len(pieces.Tokens) != 2 || pieces.Tokens[1].Piece != "b" {
		t.Errorf("%+v", pieces)
	}
	var prompt struct{ Prompt string }
	if s.post("/apply-template", `{"messages": [{"role": "user", "content": "x"}], "chat_template_kwargs": {"enable_thinking": false}}`, &prompt); prompt.Prompt != "[gMASK]<sop><|user|>x<|assistant|></think>" {
		t.Errorf("%q", prompt)
	}
	for path, want := range map[string]string{"/props": `"tool_format":"glm"`, "/slots": `"is_processing":false`, "/health": `"ok"`, "/metrics": "mla_up 1"} {
		if r, text := s.do("GET", path, ""); r.StatusCode != 200 || !strings.Contains(text, want) {
			t.Errorf("%s: %s %s", path, r.Status, text)
		}
	}
	if r, text := s.do("POST", "/detokenize", `{"tokens": [-1]}`); r.StatusCode != 400 || !strings.Contains(text, "vocabulary") {
		t.Errorf("%s %s", r.Status, text)
	}
}

// TestAlwaysThinks checks templates that cannot switch thinking off: a forced call follows empty thoughts.
func TestAlwaysThinks(t *testing.T) {
	renderer, err := chat.For("{% for t in tools or [] %}{{ t.function.name }}{% endfor %}{{ messages[0].content }}<|assistant|><think>\n{# calls are in <tool_call> #}", chat.Hints{})
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, func(c *server.Config, _ *completion.Config) { c.Chat = renderer })
	var prompt struct{ Prompt string }
	s.post("/apply-template", `{"messages": [{"role": "user", "content": "x"}], "tools": [{"type": "function", "function": {"name": "now"}}], "tool_choice": {"type": "function", "function": {"name": "now"}}}`, &prompt)
	if want := "nowx<|assistant|><think>\n</think>\n\n<tool_call>\n{\"name\": \"now\", \"arguments\": "; prompt.Prompt != want {
		t.Errorf("%q; expected %q", prompt.Prompt, want)
	}
}

// TestOrigins checks which web pages may use the server.
func TestOrigins(t *testing.T) {
	for _, c := range []struct {
		origins string
		allowed []string
		others  []string
	}{
		{"*", []string{"http://any.example", "https://other.example:8443", "null"}, nil},
		{"localhost", []string{"http://localhost:3000", "http://127.0.0.1:5173", "http://[::1]:1"}, []string{"http://localhost.example", "http://10.0.0.1"}},
		{"http://page.example", []string{"http://page.example"}, []string{"https://page.example", "http://page.example:81"}},
	} {
		s := serve(t, func(cfg *server.Config, _ *completion.Config) { cfg.Origins = []string{c.origins} })
		for _, origin := range append(append([]string{}, c.allowed...), c.others...) {
			r, _ := s.do("POST", "/tokenize", `{"content": "x"}`, "Origin", origin, "Sec-Fetch-Site", "cross-site")
			if want := slices.Contains(c.allowed, origin); (r.StatusCode == 200) != want || (r.Header.Get("Access-Control-Allow-Origin") == origin) != want {
				t.Errorf("%s: %s: %s %q", c.origins, origin, r.Status, r.Header.Get("Access-Control-Allow-Origin"))
			}
		}
		if err := server.CheckOrigin(c.origins); err != nil {
			t.Error(err)
		}
	}
	for _, origin := range []string{"", "page.example", "http://page.example/", "http://page.example/x", "http://", "**"} {
		if server.CheckOrigin(origin) == nil {
			t.Errorf("%q is an origin", origin)
		}
	}
}

func TestWhoMayAsk(t *testing.T) {
	s := serve(t, func(c *server.Config, _ *completion.Config) {
		c.Keys, c.Hosts, c.Origins = []string{"first", "second"}, []string{"localhost"}, []string{"http://page.example"}
	})
	for _, c := range []struct {
		method, path string
		headers      []string
		status       int
	}{
		{"GET", "/health", nil, 200},
		{"GET", "/v1/models", nil, 401},
		{"GET", "/v1/models", []string{"Authorization", "Bearer second"}, 200},
		{"GET", "/v1/models", []string{"X-Api-Key", "first"}, 200},
		{"GET", "/v1/models", []string{"Authorization", "bearer second"}, 200},
		{"GET", "/v1/models", []string{"Authorization", "BEARER  first"}, 200},
		{"GET", "/v1/models", []string{"Authorization", "Basic first"}, 401},
		{"GET", "/v1/models", []string{"Authorization", "Bearer "}, 401},
		{"GET", "/v1/models", []string{"Authorization", "Bearer firs"}, 401},
		{"GET", "/metrics", nil, 401},
		{"GET", "/health", []string{"Host", "evil.example"}, 403},
		{"GET", "/health", []string{"Host", "localhost:1234"}, 200},
		{"GET", "/health", []string{"Host", "[::1]:8080"}, 200},
		{"POST", "/tokenize", []string{"X-Api-Key", "first", "Origin", "http://evil.example"}, 403},
		{"POST", "/tokenize", []string{"X-Api-Key", "first", "Sec-Fetch-Site", "cross-site"}, 403},
		{"POST", "/tokenize", []string{"X-Api-Key", "first", "Origin", "http://page.example"}, 200},
		{"OPTIONS", "/tokenize", []string{"Origin", "http://page.example", "Access-Control-Request-Method", "POST"}, 204},
		{"OPTIONS", "/tokenize", []string{"Origin", "http://evil.example", "Access-Control-Request-Method", "POST"}, 401},
		{"POST", "/tokenize", []string{"X-Api-Key", "first", "Content-Encoding", "gzip"}, 415},
	} {
		r, text := s.do(c.method, c.path, `{"content": "x"}`, c.headers...)
		allow := r.Header.Get("Access-Control-Allow-Origin")
		if r.StatusCode != c.status || (allow != "") != (strings.Contains(strings.Join(c.headers, " "), "page.example")) {
			t.Errorf("%s %s %q: %s, allows %q, %s; expected %d", c.method, c.path, c.headers, r.Status, allow, text, c.status)
		}
	}
	// OpenAI's client in a page sends headers that are its own.
	if r, _ := s.do("OPTIONS", "/v1/models", "", "Origin", "http://page.example", "Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", "authorization,x-stainless-lang"); r.StatusCode != 204 || r.Header.Get("Access-Control-Allow-Headers") != "authorization,x-stainless-lang" {
		t.Errorf("%s %q", r.Status, r.Header)
	}
	if r, _ := s.do("GET", "/health", "", "X-Request-Id", "mine-1"); r.Header.Get("X-Request-Id") != "mine-1" || r.Header.Get("Request-Id") != "mine-1" {
		t.Errorf("%q", r.Header)
	}
	if r, _ := s.do("GET", "/health", "", "X-Request-Id", "a b"); !strings.HasPrefix(r.Header.Get("X-Request-Id"), "req_") {
		t.Errorf("%q", r.Header)
	}
}

// stream begins a stream and reads its first line.
func (s *served) stream(ctx context.Context, path, body string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, "POST", s.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	out, err := http.DefaultClient.Do(r)
	if err == nil {
		_, err = bufio.NewReader(out.Body).ReadString('\n')
	}
	return out, err
}

// endless is a request that continues until the context is full.
const endless = `{"prompt": "x", "max_tokens": -1, "stream": true}`

// TestQueue checks that a client which finds the queue full is told when to try again, and that a client
// which leaves frees its place.
func TestQueue(t *testing.T) {
	s := serve(t, func(_ *server.Config, c *completion.Config) { c.Queue = 1 })
	s.model.Slow(50 * time.Millisecond) // a context is full after 50 s, which a busy machine does not take for the rest
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for range sessions + 1 {
		go func() {
			if r, err := s.stream(ctx, "/v1/completions", endless); err == nil {
				<-ctx.Done()
				r.Body.Close()
			}
		}()
	}
	s.wait("all sessions at work and a full queue", func() bool {
		stats := s.service.Stats().Scheduler
		return stats.Active == sessions && stats.Waiting == 1
	})
	for path, body := range map[string]string{"/v1/completions": `{"prompt": "x"}`, "/v1/messages": `{"max_tokens": 5, "messages": [{"role": "user", "content": "x"}]}`} {
		r, text := s.do("POST", path, body)
		if r.StatusCode != 429 || r.Header.Get("Retry-After") == "" || !strings.Contains(text, "rate_limit_error") {
			t.Errorf("%s, Retry-After %q, %s", r.Status, r.Header.Get("Retry-After"), text)
		}
	}
	if _, text := s.do("GET", "/metrics", ""); !strings.Contains(text, `mla_errors_total{code="queue_full"} 2`) || !strings.Contains(text, "mla_requests_waiting 1") {
		t.Error("the metrics lack refusals or who waits")
	}
	if _, text := s.do("GET", "/slots", ""); strings.Count(text, `"is_processing":true`) != sessions || strings.Count(text, `"is_processing"`) != sessions {
		t.Errorf("slots while a request waits: %s", text)
	}
	cancel()
	s.wait("the requests of clients who are gone to end", func() bool { return len(s.service.Requests()) == 0 })
	s.model.Slow(0)
	if r, text := s.do("POST", "/v1/completions", `{"prompt": "x"}`); r.StatusCode != 200 {
		t.Errorf("%s %s", r.Status, text)
	}
}

// TestBiasStays checks that a request's logit_bias is added to the server's for that request only.
func TestBiasStays(t *testing.T) {
	own := map[int32]float32{5: 1}
	s := serve(t, func(c *server.Config, _ *completion.Config) { c.Sampling.LogitBias = own })
	if r, text := s.do("POST", "/v1/completions", `{"prompt": "x", "max_tokens": 1, "logit_bias": {"5": 3, "6": -100}}`); r.StatusCode != 200 {
		t.Fatalf("%s %s", r.Status, text)
	}
	if len(own) != 1 || own[5] != 1 {
		t.Errorf("the server's own biases are %v", own)
	}
}

// TestLoading checks the server's answers until the model is loaded.
func TestLoading(t *testing.T) {
	m, cfg, runs := configure(t)
	loads := make(chan struct{})
	runs.Load = func(ctx context.Context) (*engine.Model, error) {
		<-loads
		return m.Load(ctx)
	}
	cfg.Service = completion.New(runs)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- cfg.Service.Run(ctx) }()
	handler := server.New(cfg)
	for path, want := range map[string]int{"GET /health": 503, "POST /v1/completions": 503, "POST /tokenize": 200} {
		method, path, _ := strings.Cut(path, " ")
		r, err := http.NewRequest(method, path, strings.NewReader(`{"prompt": "x"}`))
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		if handler.ServeHTTP(w, r); w.Code != want || want == 503 && (w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "being loaded")) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	close(loads)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestDeadline checks that a request which takes too long is cut, with the reason.
func TestDeadline(t *testing.T) {
	s := serve(t, func(c *server.Config, _ *completion.Config) { c.Limits.Request = 100 * time.Millisecond })
	s.model.Slow(5 * time.Millisecond)
	if r, text := s.do("POST", "/v1/completions", `{"prompt": "x", "max_tokens": -1}`); r.StatusCode != 504 || !strings.Contains(text, "longer than the server allows") {
		t.Errorf("%s %s", r.Status, text)
	}
	if r, text := s.do("POST", "/v1/completions", endless); r.StatusCode != 200 || !strings.Contains(text, "longer than the server allows") || strings.Contains(text, "[DONE]") {
		t.Errorf("%s %s", r.Status, text)
	}
	if r, text := s.do("POST", "/v1/messages", `{"max_tokens": 1000, "stream": true, "messages": [{"role": "user", "content": "x"}]}`); r.StatusCode != 200 || !strings.Contains(text, "event: error\n") {
		t.Errorf("%s %s", r.Status, text)
	}
	if r, text := s.do("POST", "/v1/responses", `{"stream": true, "input": "x"}`); r.StatusCode != 200 || !strings.Contains(text, "event: response.failed\n") {
		t.Errorf("%s %s", r.Status, text)
	}
}

// TestDeviceFails checks that running requests fail with the reason, and that later ones run again.
func TestDeviceFails(t *testing.T) {
	s := serve(t, nil, chats...)
	s.model.Fail(errors.New("the GPU fell off"))
	if r, text := s.do("POST", "/v1/completions", `{"prompt": "x"}`); r.StatusCode != 500 || !strings.Contains(text, "the GPU fell off") {
		t.Errorf("%s %s", r.Status, text)
	}
	// Requests fail before the model is loaded anew: until then it looks as if it were still there.
	s.wait("the model to be loaded again", func() bool {
		r, _ := s.do("GET", "/health", "")
		return s.model.Loads() == 2 && r.StatusCode == 200
	})
	s.model.Slow(2 * time.Millisecond)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	r, err := s.stream(ctx, "/v1/completions", endless)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	s.model.Fail(errors.New("the GPU fell off again"))
	if rest, err := io.ReadAll(r.Body); err != nil || !strings.Contains(string(rest), "fell off again") {
		t.Errorf("%v, %s", err, rest)
	}
	s.wait("the model to be loaded again", func() bool { return s.model.Loads() == 3 && s.service.Stats().State == completion.Ready })
	if r, text := s.do("POST", "/v1/completions", `{"prompt": "x"}`); r.StatusCode != 200 {
		t.Errorf("%s %s", r.Status, text)
	}
}

// TestShutdown checks that running answers are completed, or cut when the time is over.
func TestShutdown(t *testing.T) {
	for name, c := range map[string]struct {
		drain time.Duration
		want  string
	}{"finish": {20 * time.Second, "[DONE]"}, "cut": {50 * time.Millisecond, "shutting down"}} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(cfg *server.Config, _ *completion.Config) { cfg.Limits.Drain = c.drain })
			s.model.Slow(time.Millisecond)
			r, err := s.stream(context.Background(), "/v1/completions", `{"prompt": "x", "max_tokens": 200, "stream": true}`)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Body.Close()
			s.stop()
			if rest, err := io.ReadAll(r.Body); err != nil || !strings.Contains(string(rest), c.want) {
				t.Errorf("%v, %.300s", err, rest[max(0, len(rest)-300):])
			}
		})
	}
}

// TestSlowClients checks that the server drops clients that send or read too slowly.
func TestSlowClients(t *testing.T) {
	const limit = 100 * time.Millisecond
	var log safeBuffer
	s := serve(t, func(c *server.Config, _ *completion.Config) {
		c.Limits.Read, c.Limits.Write, c.Log = limit, limit, slog.New(slog.NewJSONHandler(&log, nil))
	})
	for name, sent := range map[string]string{"header": "POST /tokenize HTTP/1.1\r\nHost: ", "body": "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, sent); err != nil {
			t.Fatal(err)
		}
		if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(conn); err != nil || strings.Contains(string(text), "200 OK") {
			t.Errorf("%s: %v, %q", name, err, text)
		}
		conn.Close()
	}
	// An answer of the longest logprobs fills the buffers between server and client.
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.(*net.TCPConn).SetReadBuffer(1); err != nil {
		t.Fatal(err)
	}
	body := `{"messages": [{"role": "user", "content": "x"}], "n": 8, "logprobs": true, "top_logprobs": 20, "stream": true}`
	fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	s.wait("the answer to be given up", func() bool {
		return strings.Contains(log.String(), `"path":"/v1/chat/completions"`) && strings.Contains(log.String(), "the client reads too slowly")
	})
	s.wait("the request to end", func() bool { return len(s.service.Requests()) == 0 })
}
