package server_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"mla/runtime/serve/completion"
	"mla/runtime/serve/server"
)

// dial opens n connections and sends a text on each.
func (s *served) dial(n int, sent string) (list []net.Conn) {
	s.Helper()
	for range n {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			s.Fatal(err)
		}
		s.Cleanup(func() { conn.Close() })
		if _, err := io.WriteString(conn, sent); err != nil {
			s.Fatal(err)
		}
		if strings.HasPrefix(sent, "GET") && strings.HasSuffix(sent, "\r\n\r\n") { // so that they become idle one after the other
			r, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				s.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				s.Fatal(err)
			}
		}
		list = append(list, conn)
	}
	return list
}

// healthy asks for the server's health on a connection of its own.
func (s *served) healthy(limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", s.url+"/health", nil)
	if err != nil {
		s.Fatal(err)
	}
	out, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err == nil {
		err = out.Body.Close()
	}
	return err
}

// TestIdleConnections checks that idle connections do not keep other clients out: without a request so far,
// in the middle of a header, or after an answer.
func TestIdleConnections(t *testing.T) {
	const most = 8
	for name, sent := range map[string]string{"new": "", "header": "GET /health HTTP/1.1\r\nHost: ", "answered": "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(c *server.Config, _ *completion.Config) { c.Limits.Connections = most })
			conns := s.dial(most+2, sent)
			for range most {
				if err := s.healthy(10 * time.Second); err != nil {
					t.Fatal(err)
				}
			}
			// Which one is oldest the server says: two that have their answers may become idle in
			// either order.
			closed := make(chan bool, len(conns))
			for _, conn := range conns {
				go func() {
					err := conn.SetReadDeadline(time.Now().Add(10 * time.Second))
					if err == nil {
						_, err = io.Copy(io.Discard, conn)
					}
					closed <- err == nil || !strings.Contains(err.Error(), "timeout")
				}()
			}
			for left := len(conns); ; left-- {
				if left == 0 {
					t.Fatal("all are still there")
				}
				if <-closed {
					break
				}
			}
		})
	}
}

// TestBusyConnections checks that a connection with a running request is never closed for another one. The
// other client is told to try again, unless it asks for the server's health.
func TestBusyConnections(t *testing.T) {
	const most = 2
	s := serve(t, func(c *server.Config, _ *completion.Config) { c.Limits.Connections = most })
	s.model.Slow(2 * time.Millisecond)
	body := `{"prompt": "x", "max_tokens": 150, "stream": true}`
	conns := s.dial(most, "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n"+body)
	s.wait("the answers to begin", func() bool { return len(s.service.Requests()) == most })
	if err := s.healthy(20 * time.Second); err != nil {
		t.Error(err)
	}
	if r, text := s.do("GET", "/v1/models", "", "Connection", "close"); r.StatusCode != 503 || r.Header.Get("Retry-After") == "" || !strings.Contains(text, "as many connections") {
		t.Errorf("more connections than allowed: %s %s", r.Status, text)
	}
	done := 0
	for _, conn := range conns {
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			if strings.Contains(lines.Text(), "[DONE]") {
				done++
				break
			}
		}
	}
	if done != most {
		t.Errorf("%d of %d answers came to their end", done, most)
	}
}

// TestCrawlingBodies checks that /health is answered while bodies on all connections do not end, for every
// path.
func TestCrawlingBodies(t *testing.T) {
	const most = 8
	for _, path := range []string{"/v1/chat/completions", "/tokenize", "/api/chat", "/nowhere"} {
		s := serve(t, func(c *server.Config, _ *completion.Config) {
			c.Limits.Connections, c.Limits.Read = most, 2*time.Second
		})
		head := "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"
		s.dial(most, head)
		for range 40 { // more than there are spare ones
			if err := s.healthy(10 * time.Second); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
		}
		// Their time ends, also where nobody reads them.
		s.wait("a connection", func() bool {
			r, _ := s.do("GET", "/v1/models", "", "Connection", "close")
			return r.StatusCode == 200
		})
	}
}

// TestPromisedLength checks that a body with too large a Content-Length is refused before it arrives.
func TestPromisedLength(t *testing.T) {
	s := serve(t, func(c *server.Config, _ *completion.Config) { c.Limits.Body = 1 << 20 })
	for _, head := range []string{"POST /v1/completions", "POST /tokenize", "POST /api/generate"} {
		conn := s.dial(1, head+" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1048577\r\n\r\n")[0]
		if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		r, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != 413 || !strings.Contains(string(text), "1048576 bytes") {
			t.Errorf("%s: %s %s, %v", head, r.Status, text, err)
		}
	}
}
