package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
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

const (
	sessions = 4
	length   = 1024 // of a context
)

// chats are the answers that the model writes.
var chats = []completiontest.Answer{
	{To: "<tool_response>12 degrees", Text: "Cold.</think>It is 12 degrees."},
	{To: "Weather?", Text: "I ask.</think>One moment.\n<tool_call>weather<arg_key>city</arg_key><arg_value>Zürich \"old\"</arg_value><arg_key>days</arg_key><arg_value>3</arg_value></tool_call><tool_call>now</tool_call>"},
	{To: "Forced?", Text: "<tool_call>weather<arg_key>city</arg_key><arg_value>Bern</arg_value></tool_call>"},
	{To: "Malformed?", Text: "x</think><tool_call>rm -rf</tool_call> oh"},
	{To: "Cut?", Text: "x</think><tool_call>weather<arg_key>city</arg_key><arg_value>a long name of a city"},
	{To: "Hello", Text: "They greet.</think>Grüezi, how are you?"},
	{To: "Quick", Text: "Done."},
}

// served is a server with a listener of its own.
type served struct {
	*testing.T
	url     string
	model   *completiontest.Model
	service *completion.Service
	stop    context.CancelFunc // of the server
	ended   chan error
}

// configure returns a model that writes answers in GLM's chat format, and the configuration to serve it.
func configure(t testing.TB, answers ...completiontest.Answer) (*completiontest.Model, server.Config, completion.Config) {
	t.Helper()
	template, err := os.ReadFile("../../text/chat/testdata/glm-4.7-flash.jinja")
	if err != nil {
		t.Fatal(err)
	}
	m, err := completiontest.New(string(template), sessions, length, answers...)
	if err != nil {
		t.Fatal(err)
	}
	renderer, err := chat.For(string(template), chat.Hints{Escape: m.Tokenizer.Escape})
	if err != nil {
		t.Fatal(err)
	}
	return m, server.Config{Model: "tiny", Context: length, Chat: renderer, Sampling: sample.Off()},
		completion.Config{Load: m.Load, Tokenizer: m.Tokenizer, Queue: 16, Retry: 20 * time.Millisecond}
}

// serve serves a model that writes the given answers, until the test ends.
func serve(t *testing.T, change func(*server.Config, *completion.Config), answers ...completiontest.Answer) *served {
	t.Helper()
	m, cfg, runs := configure(t, answers...)
	if change != nil {
		change(&cfg, &runs)
	}
	s := start(t, cfg, runs)
	s.model = m
	return s
}

// start serves until the test ends.
func start(t *testing.T, cfg server.Config, runs completion.Config) *served {
	t.Helper()
	s := &served{T: t, service: completion.New(runs), ended: make(chan error, 1)}
	cfg.Service = s.service
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.url = "http://" + l.Addr().String()
	running, finish := context.WithCancel(context.Background())
	serving, stop := context.WithCancel(context.Background())
	s.stop = stop
	ran := make(chan error, 1)
	go func() { ran <- s.service.Run(running) }()
	go func() { s.ended <- server.New(cfg).Serve(serving, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-s.ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
		finish()
		if err := <-ran; err != nil {
			t.Errorf("Run: %v", err)
		}
		if st := s.service.Stats(); st.Pages.InUse != 0 {
			t.Errorf("pages at the end: %+v", st.Pages)
		}
	})
	s.wait("a model", func() bool { return s.service.Stats().State != completion.Loading })
	return s
}

// wait waits until a condition is true.
func (s *served) wait(what string, so func() bool) {
	s.Helper()
	for end := time.Now().Add(2 * time.Minute); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			s.Fatalf("waited in vain for %s; %+v", what, s.service.Stats())
		}
	}
}

// do sends a request, with headers as pairs of name and value.
func (s *served) do(method, path, body string, headers ...string) (*http.Response, string) {
	s.Helper()
	r, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	out, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer out.Body.Close()
	data, err := io.ReadAll(out.Body)
	if err != nil {
		s.Fatal(err)
	}
	return out, string(data)
}

// post sends a request, expects the status 200 and decodes the answer into v.
func (s *served) post(path, body string, v any) {
	s.Helper()
	r, text := s.do("POST", path, body)
	if r.StatusCode != http.StatusOK {
		s.Fatalf("%s %s: %s %s", path, body, r.Status, text)
	}
	if err := json.NewDecoder(bytes.NewReader([]byte(text))).Decode(v); err != nil {
		s.Fatalf("%s: %v in %s", path, err, text)
	}
}
