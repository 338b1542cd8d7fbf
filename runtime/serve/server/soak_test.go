package server_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mla/runtime/serve/completion"
	"mla/runtime/serve/server"
	"mla/tools/tests/deep"
	"mla/tools/tests/race"
)

// soakRequests is the number of requests of each soak; `make soak` makes 20,000.
var soakRequests = flag.Int("soak", 1500, "requests of TestSoak and TestSoakTinychat")

// dawdle is how long the server of a soak waits for a body.
const dawdle = 200 * time.Millisecond

// client is one kind of client in a soak.
type client struct {
	share int // of 100
	run   func(s *served, rng *rand.Rand, path, body string) error
}

var clients = []client{
	{55, patient}, {35, impatient}, {4, func(s *served, _ *rand.Rand, path, body string) error { return s.halfway(path, body, len(body)/2) }},
	{4, func(s *served, _ *rand.Rand, path, body string) error { return s.halfway(path, body, len(body)) }}, {2, hostile},
}

// patient reads its whole answer.
func patient(s *served, _ *rand.Rand, path, body string) error {
	return s.request(context.Background(), path, body)
}

// impatient leaves in the middle of its answer.
func impatient(s *served, rng *rand.Rand, path, body string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rng.IntN(50_000))*time.Microsecond)
	defer cancel()
	if err := s.request(ctx, path, body); ctx.Err() == nil {
		return err
	}
	return nil
}

// hostile sends bytes that are not JSON.
func hostile(s *served, rng *rand.Rand, path, body string) error {
	at := rng.IntN(len(body))
	return s.request(context.Background(), path, body[:at]+string([]byte{byte(rng.Uint32())})+body[at:])
}

// request sends a request. The answer may be an error, but it has to come.
func (s *served) request(ctx context.Context, path, body string) error {
	r, err := http.NewRequestWithContext(ctx, "POST", s.url+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	out, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer out.Body.Close()
	_, err = io.Copy(io.Discard, out.Body)
	return err
}

// halfway sends a part of a body, and then either leaves or reads nothing until the server gives up.
func (s *served) halfway(path, body string, sent int) error {
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body[:sent])
	time.Sleep(dawdle + dawdle/4)
	return err
}

// load is the load on a server in a soak.
type load struct {
	clients []client
	body    func(rng *rand.Rand) (path, body string) // of a request
	rarely  func()                                   // happens now and then; may be nil
	at      int                                      // clients at a time
}

// soak makes a number of requests.
func (s *served) soak(requests int, l load) {
	s.Helper()
	var all sync.WaitGroup
	var next, lost atomic.Int64
	for i := range l.at {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 0))
			for next.Add(1) <= int64(requests) {
				path, body := l.body(rng)
				share := rng.IntN(100)
				for _, c := range l.clients {
					if share -= c.share; share < 0 {
						if err := c.run(s, rng, path, body); err != nil {
							lost.Add(1)
							s.Logf("%s %.50s: %v", path, body, err)
						}
						break
					}
				}
				if l.rarely != nil && rng.IntN(race.Rounds(500)) == 0 {
					l.rarely()
				}
			}
		})
	}
	all.Wait()
	if n := lost.Load(); n > 5+int64(requests)/200 { // on a busy machine a client may take longer than dawdle, too
		s.Errorf("%d requests got no answer", n)
	}
	s.wait("all requests to end", func() bool { return len(s.service.Requests()) == 0 })
	s.wait("the model", func() bool { return s.service.Stats().State == completion.Ready })
	s.do("POST", "/v1/completions", `{"prompt": "x", "max_tokens": 60}`)
	s.wait("pages", func() bool { p := s.service.Stats().Pages; return p.InUse == 0 })
	http.DefaultClient.CloseIdleConnections()
}

// bodies returns a random request for the model that writes given answers.
func bodies(rng *rand.Rand) (path, body string) {
	list := []struct{ path, body string }{
		{"/v1/completions", `{"prompt": "x", "max_tokens": 60, "n": 2}`},
		{"/v1/completions", endless},
		{"/v1/chat/completions", `{"messages": [{"role": "user", "content": "Hello"}], "stream": true, "logprobs": true}`},
		{"/v1/chat/completions", `{"messages": [{"role": "user", "content": "Weather?"}], "tools": [{"type": "function", "function": {"name": "now"}}]}`},
		{"/v1/messages", `{"max_tokens": 50, "stream": true, "messages": [{"role": "user", "content": "Hello"}]}`},
		{"/v1/responses", `{"input": "Hello", "stream": true}`},
		{"/v1/responses", `{"input": 7}`},
		{"/v1/chat/completions", `{"messages": [{"role": "user", "content": "` + strings.Repeat("y", 700) + `"}], "max_tokens": 20}`},
	}
	b := list[rng.IntN(len(list))]
	return b.path, b.body
}

// TestSoak checks the server under clients of all kinds: some leave in the middle, some are too slow, and the
// device fails now and then. At the end as many pages, goroutines and bytes are in use as after a tenth of
// the requests.
func TestSoak(t *testing.T) {
	s := serve(t, func(c *server.Config, _ *completion.Config) {
		c.Limits.Connections, c.Limits.Read = 64, dawdle
	}, chats...)
	s.hold(load{clients, bodies, func() { s.model.Fail(errors.New("lost")) }, 16})
}

// hold makes a tenth of a soak's requests, but enough to fill caches, and then all of them. It checks that the
// latter leave no resources in use.
func (s *served) hold(l load) {
	s.Helper()
	requests := race.Rounds(*soakRequests)
	if !deep.On {
		requests /= 5
	}
	s.do("POST", "/v1/completions", `{"prompt": "x", "max_tokens": 60}`)
	http.DefaultClient.CloseIdleConnections()
	idle := runtime.NumGoroutine()
	s.soak(max(requests/10, 30), l)
	before, resident := inUse(), residentBytes(s.T)
	s.soak(requests, l)
	s.wait("goroutines", func() bool { return runtime.NumGoroutine() <= idle })
	// What connections that end have still is less than a megabyte, and what a heap holds
	// beside what is in use a few of them; a kilobyte lost per request would be 20 in the long
	// run.
	const slack, slackResident = 2 << 20, 16 << 20
	after, residentAfter := inUse(), residentBytes(s.T)
	s.Logf("%d requests: %d answers to their end, %d failures of the device, %d to %d KiB in use, %d to %d KiB resident",
		requests, s.service.Stats().Completed, s.service.Stats().Failures, before>>10, after>>10, resident>>10, residentAfter>>10)
	// The race detector has memory of its own for whatever was touched.
	if after > before+slack || residentAfter > resident+slackResident && deep.On {
		s.Errorf("memory has grown")
	}
	if st := s.service.Stats(); st.Completed < requests/4 {
		s.Errorf("%+v", st)
	}
}

// inUse returns the number of bytes that the program has in use.
func inUse() uint64 {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// residentBytes returns the program's resident memory in bytes; 0 if the system has no file that says it.
func residentBytes(t *testing.T) int {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}
