package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"mla/runtime/serve/completion"
	"mla/runtime/serve/server"
)

// begun is the number of tokens that the requests of TestCutShort have before they are cut.
const begun = 5

// leave sends a request and leaves when the answer has begun.
func leave(s *served, body string) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		s.run(begun)
		cancel()
	}()
	s.ask(ctx, body)
}

// reset sends a request on a connection that it resets when the answer has begun. The server notices this
// when it writes, because the byte sent after the request ends its watch for the client's end.
func reset(s *served, body string) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	s.run(1)
	if _, err := conn.Write([]byte("P")); err != nil {
		s.Error(err)
	}
	s.run(begun)
	if err := conn.(*net.TCPConn).SetLinger(0); err != nil {
		s.Error(err)
	}
}

// stay sends a request and waits for the answer or its error.
func stay(s *served, body string) { s.ask(context.Background(), body) }

// lose makes the device fail when the answer has begun.
func lose(s *served, body string) {
	go func() {
		s.run(begun)
		s.model.Fail(errors.New("lost"))
	}()
	stay(s, body)
}

// run waits until the model has written a given number of tokens of a request.
func (s *served) run(tokens int) {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if list := s.service.Requests(); len(list) > 0 && list[0].Tokens >= tokens {
			return
		}
	}
	s.Error("the answer has not begun")
}

// ask makes a request whose answer does not matter.
func (s *served) ask(ctx context.Context, body string) {
	r, err := http.NewRequestWithContext(ctx, "POST", s.url+"/v1/completions", strings.NewReader(body))
	if err != nil {
		s.Error(err)
		return
	}
	if out, err := http.DefaultClient.Do(r); err == nil {
		_, _ = io.Copy(io.Discard, out.Body) // it breaks off
		out.Body.Close()
	}
}

// TestCutShort checks that the log line and the span of a request that fails have the number of tokens that
// ran for it, as the metrics do.
func TestCutShort(t *testing.T) {
	both := []bool{false, true}
	for _, c := range []struct {
		name    string
		streams []bool
		limit   time.Duration // of a request
		do      func(s *served, body string)
		want    string // the error
	}{
		{"the client goes", both, time.Minute, leave, "client is gone"},
		{"the connection is reset", []bool{true}, time.Minute, reset, "client is gone"},
		{"the time is up", both, 200 * time.Millisecond, stay, "longer than the server allows"},
		{"the device fails", both, time.Minute, lose, "lost"},
	} {
		for _, stream := range c.streams {
			t.Run(fmt.Sprintf("%s, stream %v", c.name, stream), func(t *testing.T) {
				var log safeBuffer
				kept := tracetest.NewInMemoryExporter()
				s := serve(t, func(cfg *server.Config, _ *completion.Config) {
					cfg.Limits.Request, cfg.Log = c.limit, slog.New(slog.NewJSONHandler(&log, nil))
					cfg.Tracer = sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept)).Tracer("mlarun")
				})
				s.model.Slow(5 * time.Millisecond)
				c.do(s, fmt.Sprintf(`{"prompt": ["xxxx", "yy"], "n": 2, "max_tokens": -1, "stream": %v}`, stream))
				s.wait("a line", func() bool { return strings.Contains(log.String(), `"path":"/v1/completions"`) })
				var line struct {
					Prompt, Cached, Generated int
					Error                     string
				}
				if err := json.Unmarshal([]byte(log.String()), &line); err != nil {
					t.Fatal(err)
				}
				families := s.scrape()
				counted := func(name string) int { return int(families[name].Metric[0].Counter.GetValue()) }
				if got := counted("mla_generated_tokens_total"); got < begun || line.Generated != got || line.Prompt == 0 || 2*line.Prompt != counted("mla_prompt_tokens_total") || !strings.Contains(line.Error, c.want) {
					t.Errorf("%s; %d tokens of prompts, %d were generated", log.String(), counted("mla_prompt_tokens_total"), got)
				}
				s.wait("the span", func() bool { return strings.Contains(spans(kept), "error.type") })
				for _, want := range []string{fmt.Sprint("gen_ai.usage.input_tokens=", line.Prompt), fmt.Sprint("gen_ai.usage.output_tokens=", line.Generated)} {
					if !strings.Contains(spans(kept), want) {
						t.Errorf("%s lacks %s", spans(kept), want)
					}
				}
			})
		}
	}
}

// spans returns the attributes of all spans.
func spans(kept *tracetest.InMemoryExporter) string {
	var list []string
	for _, s := range kept.GetSpans() {
		list = append(list, attributes(s))
	}
	return strings.Join(list, "\n")
}

// TestLog checks that a request is one line of the log, and that the line has the request's text only if
// asked for.
func TestLog(t *testing.T) {
	for _, prompts := range []bool{false, true} {
		var log safeBuffer
		s := serve(t, func(c *server.Config, _ *completion.Config) {
			c.Log = slog.New(slog.NewJSONHandler(&log, nil))
			if prompts {
				c.Prompts = c.Log
			}
		})
		s.do("POST", "/v1/completions", `{"prompt": "a secret", "max_tokens": 3}`)
		s.wait("a line", func() bool { return strings.Contains(log.String(), `"generated":3`) })
		if strings.Contains(log.String(), "secret") != prompts {
			t.Errorf("%v: %s", prompts, log.String())
		}
	}
}

type safeBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *safeBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(data)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
