package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mla/runtime/serve/completion/completiontest"
	"mla/runtime/serve/fleet"
	"mla/runtime/serve/server"

	"mla/runtime/serve/completion"
)

// TestRouter checks that requests reach the model that they name, and that the router loads this model.
func TestRouter(t *testing.T) {
	workers := map[string]*served{
		"north": serve(t, func(c *server.Config, _ *completion.Config) {
			c.Model, c.Keys, c.Worker = "north", []string{"worker"}, true
		}, completiontest.Answer{To: "Hello", Text: "x</think>from the north"}),
		"south": serve(t, func(c *server.Config, _ *completion.Config) {
			c.Model, c.Keys, c.Worker = "south", []string{"worker"}, true
		}, completiontest.Answer{To: "Hello", Text: "x</think>from the south"}),
	}
	f := fleet.New(fleet.Config{Models: []fleet.Model{{Name: "north", Bytes: 60}, {Name: "south", Bytes: 60}, {Name: "broken", Bytes: 1}}, Memory: 100,
		Run: func(ctx context.Context, m fleet.Model, ready func(string)) error {
			w, ok := workers[m.Name]
			if !ok {
				return errors.New("no kernels")
			}
			ready(w.url)
			<-ctx.Done()
			return nil
		}})
	t.Cleanup(f.Close)
	_, cfg, _ := configure(t)
	var log safeBuffer
	cfg.Keys, cfg.Hosts, cfg.Log = []string{"secret"}, []string{"localhost"}, slog.New(slog.NewJSONHandler(&log, nil))
	front := httptest.NewServer(server.NewRouter(cfg, f, "worker"))
	t.Cleanup(front.Close)
	s := &served{T: t, url: front.URL}
	key := []string{"X-Api-Key", "secret"}

	if r, _ := s.do("POST", "/v1/chat/completions", `{"model": "north"}`); r.StatusCode != 401 || len(f.Loaded()) != 0 {
		t.Errorf("without a key: %s", r.Status)
	}
	for _, name := range []string{"north", "south", "north"} {
		for _, more := range []string{"", `, "stream": true`} {
			r, text := s.do("POST", "/v1/chat/completions", `{"messages": [{"role": "user", "content": "Hello"}], "model": "`+name+`"`+more+`}`, append(key, "Origin", s.url, "X-Request-Id", "mine")...)
			if said := strings.Contains(text, "from the "+name) || strings.Contains(text, "[DONE]") && strings.Contains(text, `"model":"`+name); r.StatusCode != 200 || !said || len(r.Header["X-Request-Id"]) != 1 || r.Header.Get("X-Request-Id") != "mine" || len(r.Header["Cache-Control"]) != 1 || len(r.Trailer) > 0 {
				t.Errorf("%s: %s %q %s", name, r.Status, r.Header, text)
			}
		}
		if got := f.Loaded(); len(got) != 1 || got[name] == "" {
			t.Errorf("loaded for %s: %v", name, got)
		}
	}
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/health", "", 200, "ok"},
		{"GET", "/", "", 200, "<html"},
		{"GET", "/v1/models/south", "", 200, `"loaded":false`},
		{"GET", "/v1/models/x", "", 404, "model_not_found"},
		{"GET", "/props?model=north", "", 200, `"model_alias":"north"`},
		{"GET", "/props", "", 400, "/v1/models"},
		{"GET", "/metrics", "", 200, `mla_up{model="north"} 1`},
		{"POST", "/tokenize", `{"model": "north", "content": "a"}`, 200, "tokens"},
		{"POST", "/v1/completions", `{"prompt": "x"}`, 400, "/v1/models"},
		{"POST", "/v1/completions", `{"model": 7}`, 400, "model"},
		{"POST", "/v1/completions", `{`, 400, "invalid_json"},
		{"POST", "/v1/completions", `{"model": "x"}`, 404, `there is no model`},
		{"POST", "/v1/messages", `{"model": "x"}`, 404, `"type":"not_found_error"`},
		{"POST", "/v1/completions", `{"model": "broken"}`, 500, "no kernels"},
		{"POST", "/v1/completions", `{"model": "north", "prompt": "x", "top_k": -2}`, 400, "top_k"},
		{"POST", "/v1/models", "{}", 405, "method_not_allowed"},
		{"GET", "/models", "", 200, `"id":"north"`},
		{"GET", "/v1/health", "", 200, "ok"},
		{"GET", "/metrics", "", 200, `llamacpp:requests_processing{model="north"} 0`},
		{"GET", "/api/tags", "", 200, `"name":"south"`},
		{"GET", "/api/ps", "", 200, `"name":"north"`},
		{"GET", "/api/version", "", 200, `"version"`},
		{"POST", "/api/show", `{"name": "north:latest"}`, 200, `"capabilities"`},
		{"POST", "/api/chat", `{"model": "nobody", "messages": []}`, 404, `{"error":"there is no model`},
		{"POST", "/api/chat", `{"model": "north", "messages": [], "keep_alive": "soon"}`, 400, `{"error":"keep_alive: `},
		{"POST", "/api/chat", `{"model": "north", "messages": [], "keep_alive": -1}`, 200, `"done_reason":"load"`},
		{"POST", "/api/chat", `{"messages": []}`, 400, `{"error":"model: `},
		{"POST", "/api/pull", `{"model": "x"}`, 400, `{"error":"pull `},
		{"DELETE", "/api/delete", `{"model": "x"}`, 400, `{"error":"delete `},
		{"POST", "/v1/embeddings", `{"input": "x"}`, 400, "embeddings are not supported"},
		{"POST", "/models/load", `{"model": "north"}`, 200, `"success":true`},
		{"GET", "/v1/models/north", "", 200, `"status":{"value":"loaded"}`},
		{"POST", "/models/load", `{"model": "nobody"}`, 404, "model_not_found"},
		{"POST", "/models/unload", `{"model": "south"}`, 200, `"success":true`},
		{"GET", "/models/south", "", 404, "not_found"},
		{"POST", "/slots/0?action=save&model=north", "", 501, "prompt-cache-dir"},
	} {
		if r, text := s.do(c.method, c.path, c.body, key...); r.StatusCode != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%s %s %s: %s %.300s", c.method, c.path, c.body, r.Status, text)
		}
	}
	// What the model has used is in the router's log, and its metrics only with its name.
	if n := strings.Count(log.String(), `"model":"north","prompt":10,"cached":`); n != 4 {
		t.Errorf("%d lines with numbers of tokens:\n%s", n, log.String())
	}
	if _, text := s.do("GET", "/metrics", "", key...); strings.Contains(text, "mla_generated_tokens_total 0") || strings.Contains(text, "mla_first_token_seconds_count 0") {
		t.Error("the router has metrics of answers of its own")
	}
	var list struct{ Data []struct{ ID string } }
	if _, text := s.do("GET", "/v1/models", "", key...); json.Unmarshal([]byte(text), &list) != nil || len(list.Data) != 3 || list.Data[1].ID != "south" {
		t.Errorf("%s", text)
	}

	// A client that leaves while the answer comes ends it in the worker, too, and releases the model.
	workers["north"].model.Slow(2 * time.Millisecond)
	ctx, cancel := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(ctx, "POST", s.url+"/v1/completions", strings.NewReader(`{"model": "north", "prompt": "x", "max_tokens": -1, "stream": true}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Api-Key", "secret")
	out, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out.Body).ReadString('\n'); err != nil {
		t.Error(err)
	}
	cancel()
	out.Body.Close()
	workers["north"].wait("the request to end", func() bool { return len(workers["north"].service.Requests()) == 0 })
	if r, text := s.do("POST", "/v1/completions", `{"model": "south", "prompt": "x", "max_tokens": 1}`, key...); r.StatusCode != 200 {
		t.Errorf("%s %s", r.Status, text)
	}
}

// TestRouterBreaksOff checks that an answer whose worker dies ends as a broken one. If the answer has not
// begun, the client gets an error message.
func TestRouterBreaksOff(t *testing.T) {
	hello := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
	for name, begun := range map[string]string{"begun": hello, "not begun": ""} {
		t.Run(name, func(t *testing.T) {
			front := behindRouter(t, func(body io.Reader, conn net.Conn) error {
				// What was not read of a request makes a closed connection a reset one,
				// and that can reach the router before the answer's beginning does.
				_, err := io.Copy(io.Discard, body)
				_, err2 := io.WriteString(conn, begun)
				return errors.Join(err, err2)
			})
			r, err := http.Post(front+"/tokenize", "application/json", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Body.Close()
			text, err := io.ReadAll(r.Body)
			if whole := err == nil; whole != (begun == "") {
				t.Errorf("%q, error %v", text, err)
			}
			if begun == "" && (r.StatusCode != http.StatusBadGateway || !strings.Contains(string(text), "worker_gone") || strings.Contains(string(text), "127.0.0.1")) {
				t.Errorf("%d %s", r.StatusCode, text)
			}
		})
	}
}

// behindRouter returns the address of a router with one worker, which writes every answer by the function
// answer and then closes the connection.
func behindRouter(t *testing.T, answer func(body io.Reader, conn net.Conn) error) string {
	worker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, rest, err := w.(http.Hijacker).Hijack()
		if err == nil {
			err = errors.Join(answer(io.LimitReader(rest, r.ContentLength), conn), conn.Close())
		}
		if err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(worker.Close)
	f := fleet.New(fleet.Config{Models: []fleet.Model{{Name: "m"}}, Run: func(ctx context.Context, _ fleet.Model, ready func(string)) error {
		ready(worker.URL)
		<-ctx.Done()
		return nil
	}})
	t.Cleanup(func() { f.Close() })
	_, cfg, _ := configure(t)
	front := httptest.NewServer(server.NewRouter(cfg, f, ""))
	t.Cleanup(front.Close)
	return front.URL
}
