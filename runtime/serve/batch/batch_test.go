package batch_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"mla/runtime/serve/batch"
)

// broker starts a NATS server for the test.
func broker(t *testing.T) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{Port: -1, Host: "127.0.0.1", JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true, MaxPayload: 4096})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the broker does not start")
	}
	return s
}

func connect(t *testing.T, s *server.Server) (*nats.Conn, jetstream.JetStream) {
	t.Helper()
	c, err := nats.Connect(s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	js, err := jetstream.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return c, js
}

// input returns a batch of n requests.
func input(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"custom_id": "r%d", "method": "POST", "url": "/v1/chat/completions", "body": {"n": %d}}`+"\n", i, i)
	}
	return b.String()
}

// run starts a worker with a handler.
func run(t *testing.T, s *server.Server, handler http.HandlerFunc) (conn *nats.Conn, stop func()) {
	t.Helper()
	conn, js := connect(t, s)
	w := &batch.Worker{Handler: handler, Slots: 3, Log: slog.New(slog.DiscardHandler), AckWait: 200 * time.Millisecond}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx, js) }()
	return conn, sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil && !conn.IsClosed() {
			t.Error(err)
		}
	})
}

// answers runs a batch to its end and returns the lines of its output.
func answers(t *testing.T, s *server.Server, text string) (lines []map[string]any) {
	t.Helper()
	_, js := connect(t, s)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	f, err := batch.Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Submit(ctx, js); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	seen := 0
	if err := f.Collect(ctx, js, &out, func(n int) { seen = n }); err != nil || seen != f.Len() {
		t.Fatalf("%v after %d answers", err, seen)
	}
	for scan := bufio.NewScanner(&out); scan.Scan(); {
		var line map[string]any
		if err := json.Unmarshal(scan.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	return lines
}

// echo answers with the request's body.
func echo(w http.ResponseWriter, r *http.Request) {
	data, _ := io.ReadAll(r.Body)
	w.Header().Set("X-Request-Id", "x")
	_, _ = w.Write(data)
}

// TestKilled checks that every request has exactly one answer if, of three workers, one is cut off in the
// middle of its requests and one stops.
func TestKilled(t *testing.T) {
	const n = 120
	s := broker(t)
	var runs atomic.Int64
	slow := func(w http.ResponseWriter, r *http.Request) {
		runs.Add(1)
		time.Sleep(time.Duration(rand.IntN(8)) * time.Millisecond)
		echo(w, r)
	}
	_, stopA := run(t, s, slow)
	defer stopA()
	var begun atomic.Int64
	hangs := make(chan struct{})
	connB, stopB := run(t, s, func(w http.ResponseWriter, r *http.Request) {
		if begun.Add(1) > 5 { // it holds requests when it dies
			<-hangs
		}
		slow(w, r)
	})
	defer stopB()
	defer close(hangs)
	_, stopC := run(t, s, slow)
	go func() {
		for begun.Load() < 8 {
			time.Sleep(time.Millisecond)
		}
		connB.Close() // as if its machine were gone
		stopC()
	}()
	lines := answers(t, s, input(n))
	if len(lines) != n {
		t.Fatalf("%d answers", len(lines))
	}
	for i, line := range lines {
		r, _ := line["response"].(map[string]any)
		if body, _ := r["body"].(map[string]any); line["custom_id"] != fmt.Sprintf("r%d", i) || body["n"] != float64(i) || r["status_code"] != 200. || r["request_id"] != "x" || line["error"] != nil {
			t.Errorf("%d: %v", i, line)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, js := connect(t, s)
	for name, want := range map[string]uint64{"mla_answers": n, "mla_requests": 0} {
		stream, err := js.Stream(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		// What B had, it could not acknowledge: that comes a moment later.
		for end := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			info, err := stream.Info(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if info.State.Msgs == want {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%d messages in %s; expected %d", info.State.Msgs, name, want)
			}
		}
	}
	before := runs.Load()
	if again := answers(t, s, input(n)); len(again) != n || runs.Load() != before {
		t.Errorf("submitted again, %d requests were run", runs.Load()-before)
	}
}

// TestFailures checks that a request which cannot be answered has an error as its answer, and that a request
// which cannot be answered yet waits.
func TestFailures(t *testing.T) {
	s := broker(t)
	var busy atomic.Int64
	_, stop := run(t, s, func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		switch body := string(data); {
		case strings.Contains(body, "busy") && busy.Add(1) == 1:
			w.WriteHeader(http.StatusTooManyRequests)
		case strings.Contains(body, "poison"):
			w.WriteHeader(http.StatusInternalServerError)
		case strings.Contains(body, "wrong"):
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error": "wrong"}`)
		case strings.Contains(body, "stream"):
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: {}\n\n")
		case strings.Contains(body, "odd"):
			_, _ = io.WriteString(w, "hello")
		case strings.Contains(body, "moved"):
			http.Redirect(w, r, "/health", http.StatusTemporaryRedirect)
		case strings.Contains(body, "large"):
			_, _ = io.WriteString(w, `"`+strings.Repeat("x", 5000)+`"`)
		default:
			_, _ = io.WriteString(w, "{}")
		}
	})
	defer stop()
	var text strings.Builder
	want := []string{"busy:200", "wrong:400", "stream:cannot be streamed", "odd:no JSON", "moved:/health", "large:max_payload", "poison:gave_up"}
	for _, w := range want {
		kind, _, _ := strings.Cut(w, ":")
		fmt.Fprintf(&text, `{"custom_id": %q, "method": "POST", "url": "/v1/x", "body": {"a": %q}}`+"\n", kind, kind)
	}
	for i, line := range answers(t, s, text.String()) {
		kind, expected, _ := strings.Cut(want[i], ":")
		if said := fmt.Sprint(line); line["custom_id"] != kind || !strings.Contains(said, expected) {
			t.Errorf("%s: %s", want[i], said)
		}
	}
}

// TestPoison checks that requests which never end, and a server that is always busy for them, have errors as
// their answers, and that the requests after them are answered.
func TestPoison(t *testing.T) {
	s := broker(t)
	_, js := connect(t, s)
	ends := make(chan struct{})
	defer close(ends)
	w := &batch.Worker{Slots: 1, Log: slog.New(slog.DiscardHandler), AckWait: 200 * time.Millisecond, Patience: time.Nanosecond, Limit: 300 * time.Millisecond,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			data, _ := io.ReadAll(r.Body)
			switch body := string(data); {
			case strings.Contains(body, "deaf"):
				<-ends
			case strings.Contains(body, "slow"):
				<-r.Context().Done()
			case strings.Contains(body, "full"):
				w.WriteHeader(http.StatusTooManyRequests)
			default:
				_, _ = w.Write(data)
			}
		})}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx, js) }()
	var text strings.Builder
	want := []string{"deaf:timeout", "slow:timeout", "full:gave_up", "good:200"}
	for _, w := range want {
		kind, _, _ := strings.Cut(w, ":")
		fmt.Fprintf(&text, `{"custom_id": %q, "method": "POST", "url": "/v1/x", "body": {"a": %q}}`+"\n", kind, kind)
	}
	for i, line := range answers(t, s, text.String()) {
		kind, expected, _ := strings.Cut(want[i], ":")
		if said := fmt.Sprint(line); line["custom_id"] != kind || !strings.Contains(said, expected) {
			t.Errorf("%s: %s", want[i], said)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestRead(t *testing.T) {
	ok := `{"custom_id": "a", "method": "POST", "url": "/v1/x", "body": {}}`
	for text, want := range map[string]string{
		"": "no requests", "{": "line 1", ok + "\n\n" + ok: "line 3: custom_id \"a\" is that of line 1, too",
		strings.Replace(ok, "POST", "GET", 1): "method", strings.Replace(ok, "/v1/x", "http://x/", 1): "url", strings.Replace(ok, "/v1/x", "/v1/../../health", 1): "url", strings.Replace(ok, "/v1/x", "/v1/%2e%2e/health", 1): "url", strings.Replace(ok, "/v1/x", "//host/v1/x", 1): "url", strings.Replace(ok, "/v1/x", "/v1/x?a=b", 1): "url", strings.Replace(ok, "{}", "7", 1): "body",
		strings.Replace(ok, `"a"`, `""`, 1): "custom_id", ok: "",
	} {
		if _, err := batch.Read(strings.NewReader(text)); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; expected %q", text, err, want)
		}
	}
}
