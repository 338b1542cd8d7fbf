package main

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"
)

// TestSilentCollector: a collector that takes spans and never answers does not hold the end.
func TestSilentCollector(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+l.Addr().String())
	traces, err := tracing(context.Background(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	_, span := traces.Tracer("test").Start(context.Background(), "request")
	span.End()
	start := time.Now()
	traces.end()
	if took := time.Since(start); took > 15*flushTime { // 15 times the wait, because a busy machine is slow
		t.Errorf("the end took %v", took)
	}
}

// TestKeysAndOrigins: a key that no request can have, and an origin that is none, are refused
// at the start.
func TestKeysAndOrigins(t *testing.T) {
	for _, c := range []struct {
		args     []string
		variable string
		wrong    bool
	}{
		{[]string{"-api-key", "k"}, "", false},
		{[]string{"-api-key", " "}, "", true},
		{[]string{"-api-key", "a b"}, "", true},
		{[]string{"-api-key", "k\t"}, "", true},
		{[]string{"-api-key", "kéy"}, "", true},
		{nil, "key", false},
		{nil, "   ", true},
		{[]string{"-cors-origin", "*"}, "", false},
		{[]string{"-cors-origin", "localhost"}, "", false},
		{[]string{"-cors-origin", "http://localhost:3000"}, "", false},
		{[]string{"-cors-origin", "localhost:3000"}, "", true},
		{[]string{"-cors-origin", "http://a.example/x"}, "", true},
	} {
		var said strings.Builder
		s := newServing(&env{in: strings.NewReader(""), out: &said, err: &said, devices: devices, auto: []string{"cpu"}, getenv: func(name string) string {
			if name == "MLA_API_KEY" {
				return c.variable
			}
			return ""
		}})
		if err := s.read(append([]string{"-model", shipped, "-port", "0"}, c.args...)); (err != nil) != c.wrong {
			t.Errorf("%q, %q: %v", c.args, c.variable, err)
		}
	}
}
