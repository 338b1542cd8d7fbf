package server

import (
	"fmt"
	"strings"
	"testing"
)

func TestMemory(t *testing.T) {
	m := newMemory()
	m.add("a", written{arguments: `{"x":1,  "y":[2.50]}`})
	for _, c := range []struct{ id, given, want string }{
		{"a", `{"x":1,  "y":[2.50]}`, `{"x":1,  "y":[2.50]}`},
		{"a", `{"y": [2.50], "x": 1}`, `{"x":1,  "y":[2.50]}`}, // a client has encoded it anew
		{"a", `{"y":[2.50],"x":2}`, `{"y": [2.50], "x": 2}`},   // it has changed it
		{"b", `{"x":1}`, `{"x": 1}`},
	} {
		if got, err := m.arguments(c.id, c.given); err != nil || got != c.want {
			t.Errorf("%s %s: %q, %v; expected %q", c.id, c.given, got, err, c.want)
		}
	}
	if _, err := m.arguments("b", `{"x"`); err == nil {
		t.Error("half an object is taken")
	}
	for i := range maxCalls + 10 {
		m.add(fmt.Sprint(i), written{arguments: "{}"})
	}
	if len(m.calls) != maxCalls || len(m.ids) != maxCalls {
		t.Errorf("%d calls are remembered", len(m.calls))
	}
	large := strings.Repeat("x", maxCallBytes/16)
	for i := range 20 {
		m.add(fmt.Sprint("large", i), written{large[1:], "x"})
	}
	if m.size > maxCallBytes || len(m.ids) != len(m.calls) || m.calls["large19"].arguments != large[1:] {
		t.Errorf("%d bytes, %d ids, %d calls", m.size, len(m.ids), len(m.calls))
	}
	m.add("huge", written{large, "x"})
	if _, ok := m.calls["huge"]; ok {
		t.Error("too large a call is remembered")
	}
}
