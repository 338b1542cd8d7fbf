//go:build deep

// Package caddy_test runs Caddy with the Caddyfile beside it.
package caddy_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mla/runtime/engine"
	"mla/runtime/serve/completion"
	"mla/runtime/serve/completion/completiontest"
	"mla/runtime/serve/scheduler"
	"mla/runtime/serve/server"
	"mla/runtime/text/chat"
	"mla/runtime/text/sample"
)

// worker is a server behind Caddy.
type worker struct {
	address string
	model   *completiontest.Model
	service *completion.Service
	asked   atomic.Int64 // requests of completions that have reached it
	// broken breaks the connection off: 0 not, 1 before an answer, 2 within one.
	broken atomic.Int64
	stop   func()
}

func newWorker(t *testing.T) *worker {
	t.Helper()
	const template = "{{ messages[0].content }}"
	m, err := completiontest.New(template, 2, 512, completiontest.Answer{To: "Q:", Text: "ok"})
	if err != nil {
		t.Fatal(err)
	}
	renderer, err := chat.For(template, chat.Hints{})
	if err != nil {
		t.Fatal(err)
	}
	w := &worker{model: m, service: completion.New(completion.Config{Load: m.Load, Tokenizer: m.Tokenizer, Retry: time.Hour})}
	handler := server.New(server.Config{Service: w.service, Model: "tiny", Context: 512, Chat: renderer, Sampling: sample.Off()})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.address = l.Addr().String()
	web := &http.Server{Handler: http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.asked.Add(1)
			switch w.broken.Load() {
			case 1:
				panic(http.ErrAbortHandler)
			case 2:
				out = &cut{ResponseWriter: out, left: 200}
			}
		}
		handler.ServeHTTP(out, r)
	})}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.service.Run(ctx) }()
	go func() { _ = web.Serve(l) }() // ends with an error when it is closed
	closed := false
	w.stop = func() {
		if !closed {
			closed = true
			web.Close()
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(w.stop)
	return w
}

// cut breaks an answer off after some bytes.
type cut struct {
	http.ResponseWriter
	left int
}

func (c *cut) Write(data []byte) (int, error) {
	if c.left -= len(data); c.left < 0 {
		panic(http.ErrAbortHandler)
	}
	return c.ResponseWriter.Write(data)
}

func (c *cut) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// startCaddy builds Caddy from its sources and runs it before the workers.
func startCaddy(t *testing.T, workers ...*worker) (url string) {
	t.Helper()
	build := exec.Command("sh", "../../scripts/release-tool.sh", "caddy", "caddy")
	build.Stderr = os.Stderr
	path, err := build.Output()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") // for a port that is free
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	var addresses []string
	for _, w := range workers {
		addresses = append(addresses, w.address)
	}
	c := exec.Command(strings.TrimSpace(string(path)), "run", "--config", "Caddyfile")
	home := t.TempDir()
	c.Env = append(os.Environ(), "MLA_ADDRESS=http://"+address, "MLA_WORKERS="+strings.Join(addresses, " "), "HOME="+home, "XDG_DATA_HOME="+home, "XDG_CONFIG_HOME="+home)
	var log strings.Builder
	c.Stderr = &log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(c.Process.Signal(syscall.SIGTERM), c.Wait()); err != nil || t.Failed() {
			t.Errorf("Caddy: %v\n%s", err, log.String())
		}
	})
	until(t, "Caddy", func() bool {
		r, err := http.Get("http://" + address + "/health")
		if err == nil {
			r.Body.Close()
		}
		return err == nil && r.StatusCode == http.StatusOK
	})
	return "http://" + address
}

func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// ask asks for a completion in a session.
func ask(t *testing.T, url, session, body string) (*http.Response, string, error) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, url+"/v1/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Session-Id", session)
	out, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer out.Body.Close()
	text, err := io.ReadAll(out.Body)
	return out, string(text), err
}

const (
	short  = `{"prompt": "Q:", "max_tokens": 5}`
	stream = `{"prompt": "x", "max_tokens": 100, "stream": true}`
)

func TestCaddy(t *testing.T) {
	workers := []*worker{newWorker(t), newWorker(t)}
	url := startCaddy(t, workers...)
	counts := func() (list [2]int64) {
		for i, w := range workers {
			list[i] = w.asked.Load()
		}
		return list
	}
	// home is the worker that a session stays with.
	home := map[string]int{}
	for i := range 24 {
		session := fmt.Sprintf("session-%d", i)
		for n := range 3 {
			before := counts()
			r, text, err := ask(t, url, session, short)
			if err != nil || r.StatusCode != http.StatusOK || !strings.Contains(text, `"ok"`) {
				t.Fatalf("%v, %s", err, text)
			}
			at := 0
			if counts()[1] > before[1] {
				at = 1
			}
			if n > 0 && home[session] != at {
				t.Errorf("%s moved", session)
			}
			home[session] = at
		}
	}
	of := [2]string{} // a session of each
	for session, at := range home {
		of[at] = session
	}
	if of[0] == "" || of[1] == "" {
		t.Fatalf("all sessions are with one worker: %v", home)
	}

	// A worker may answer at once: Caddy must have all of the request by then.
	for range 500 {
		if _, text, err := ask(t, url, of[0], stream); err != nil || !strings.Contains(text, "[DONE]") {
			t.Fatalf("%v, %s", err, text)
		}
	}

	// Pieces of a stream come when they are written.
	workers[0].model.Slow(20 * time.Millisecond) // the answer takes two seconds; the first piece takes less than half of that, even on a busy machine
	r, err := http.NewRequest(http.MethodPost, url+"/v1/completions", strings.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Session-Id", of[0])
	begin := time.Now()
	out, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(out.Body)
	if _, err := in.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	first := time.Since(begin)
	if _, err := io.Copy(io.Discard, in); err != nil {
		t.Error(err)
	}
	out.Body.Close()
	if all := time.Since(begin); first > all/2 {
		t.Errorf("the first piece came after %v of %v", first, all)
	}
	workers[0].model.Slow(0)

	// What a worker has begun, or may have, is not given to the other one. Caddy passes one
	// over for a while that has broken off, so both do.
	for kind, body := range map[int64]string{1: short, 2: stream} {
		before := counts()
		for _, w := range workers {
			w.broken.Store(kind)
		}
		r, text, err := ask(t, url, of[0], body)
		for _, w := range workers {
			w.broken.Store(0)
		}
		if err == nil && (r.StatusCode == http.StatusOK && strings.Contains(text, "[DONE]") || kind == 1 && r.StatusCode != http.StatusBadGateway) {
			t.Errorf("broken off, %d: %s %s", kind, r.Status, text)
		}
		if now := counts(); now[0]+now[1] != before[0]+before[1]+1 {
			t.Errorf("broken off, %d: %v requests after %v", kind, now, before)
		}
	}

	until(t, "sessions to come home", func() bool {
		before := counts()
		for _, session := range of {
			if r, text, err := ask(t, url, session, short); err != nil || r.StatusCode != http.StatusOK {
				t.Fatalf("%v, %s", err, text)
			}
		}
		now := counts()
		return now[0] == before[0]+1 && now[1] == before[1]+1
	})

	// A full queue is the client's to know: two run, and none may wait.
	workers[1].model.Slow(50 * time.Millisecond)
	ctx, cancel := context.WithCancel(context.Background())
	for range 2 {
		go func() {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/completions", strings.NewReader(`{"prompt": "x", "max_tokens": -1}`))
			if err != nil {
				t.Error(err)
				return
			}
			r.Header.Set("X-Session-Id", of[1])
			if out, err := http.DefaultClient.Do(r); err == nil {
				out.Body.Close()
			}
		}()
	}
	until(t, "a full worker", func() bool { return len(workers[1].service.Requests()) == 2 })
	if r, text, err := ask(t, url, of[1], short); err != nil || r.StatusCode != http.StatusTooManyRequests || r.Header.Get("Retry-After") == "" {
		t.Errorf("%v, %s", err, text)
	}
	cancel()
	until(t, "the worker of clients who have gone", func() bool { return len(workers[1].service.Requests()) == 0 })
	workers[1].model.Slow(0)

	// A worker that is gone is passed over at once; before its health is looked at again. One
	// request may be lost: Caddy sends it on a connection whose end it has not read yet, and
	// does not repeat it.
	workers[0].stop()
	before, lost := counts(), 0
	for range 4 {
		r, text, err := ask(t, url, of[0], short)
		if err != nil || r.StatusCode != http.StatusOK && r.StatusCode != http.StatusBadGateway {
			t.Errorf("%v, %s", err, text)
		} else if r.StatusCode == http.StatusBadGateway {
			lost++
		}
	}
	if now := counts(); now[1] != before[1]+4-int64(lost) || lost > 1 {
		t.Errorf("%v requests after %v, %d lost", now, before, lost)
	}
}

// TestHealth: a worker whose device has failed gets no requests.
func TestHealth(t *testing.T) {
	workers := []*worker{newWorker(t), newWorker(t)}
	url := startCaddy(t, workers...)
	sick := workers[0]
	sick.model.Break(errors.New("lost"))
	ended := make(chan error, 1)
	if err := sick.service.Start(t.Context(), completion.Request{Continuation: scheduler.Continuation{Prompt: []int32{1}, Max: 1, Done: func(_ engine.Result, err error) { ended <- err }}, Params: sample.Off(), Logprobs: -1, Emit: func(completion.Token) bool { return true }}); err != nil {
		t.Fatal(err)
	}
	<-ended
	until(t, "Caddy to notice", func() bool {
		before := sick.asked.Load()
		for i := range 8 {
			if r, _, err := ask(t, url, fmt.Sprintf("session-%d", i), short); err != nil || r.StatusCode != http.StatusOK {
				return false
			}
		}
		return sick.asked.Load() == before
	})
}
