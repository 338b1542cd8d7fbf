package server

import (
	"fmt"
	"strings"
	"testing"

	"mla/runtime/text/chat"
	"mla/runtime/text/chat/output"
)

func TestMemory(t *testing.T) {
	s := &Server{calls: newMemory()}
	m := s.calls
	m.add("a", written{arguments: `{"x":1,  "y":[2.50]}`})
	for _, c := range []struct{ id, given, want string }{
		{"a", `{"x":1,  "y":[2.50]}`, `{"x":1,  "y":[2.50]}`},
		{"a", `{"y": [2.50], "x": 1}`, `{"x":1,  "y":[2.50]}`}, // a client has encoded it anew
		{"a", `{"y":[2.50],"x":2}`, `{"y": [2.5], "x": 2}`},    // it has changed it
		{"b", `{"x":1}`, `{"x": 1}`},
		{"b", `{"x":`, `{"x":`}, // a call that was cut
		{"b", ` null `, `{}`},
	} {
		call, err := replay("", c.id, "f", c.given)
		if err != nil {
			t.Fatal(err)
		}
		got := s.recall(&conversation{messages: []chat.Message{{Role: chat.Assistant, ToolCalls: []chat.ToolCall{call}}}})
		if got[0].ToolCalls[0].Arguments != c.want {
			t.Errorf("%s %s: %q; expected %q", c.id, c.given, got[0].ToolCalls[0].Arguments, c.want)
		}
	}
	for i := range maxCalls + 10 {
		m.add(fmt.Sprint(i), written{arguments: "{}"})
	}
	if len(m.calls) != maxCalls || len(m.keys) != maxCalls {
		t.Errorf("%d calls are remembered", len(m.calls))
	}
	large := strings.Repeat("x", maxCallBytes/16)
	for i := range 20 {
		m.add(fmt.Sprint("large", i), written{large[1:], "x"})
	}
	if m.size > maxCallBytes || len(m.keys) != len(m.calls) || m.calls[callKey{id: "large19"}].arguments != large[1:] {
		t.Errorf("%d bytes, %d ids, %d calls", m.size, len(m.keys), len(m.calls))
	}
	m.add("huge", written{arguments: large + "x"})
	if _, ok := m.calls[callKey{id: "huge"}]; ok {
		t.Error("too large a call is remembered")
	}
}

// TestThoughts checks that a turn which calls tools gets back the thoughts before its calls, in any order of
// the calls, unless the turn has thoughts of its own or the calls were changed.
func TestThoughts(t *testing.T) {
	s := &Server{calls: newMemory()}
	m := s.calls
	m.add("a", written{`{"x": 1}`, "why"})
	m.add("b", written{arguments: `{}`})
	m.add("c", written{"{}", strings.Repeat("x", maxCallBytes/16)})
	a, b, c := chat.ToolCall{ID: "a", Arguments: `{"x": 1}`}, chat.ToolCall{ID: "b", Arguments: "{}"}, chat.ToolCall{ID: "c", Arguments: "{}"}
	for _, tt := range []struct {
		turn chat.Message
		want string
	}{
		{chat.Message{Role: chat.Assistant, ToolCalls: []chat.ToolCall{a, b}}, "why"},
		{chat.Message{Role: chat.Assistant, ToolCalls: []chat.ToolCall{b, a}}, "why"},
		{chat.Message{Role: chat.Assistant, ToolCalls: []chat.ToolCall{b}}, ""},
		{chat.Message{Role: chat.Assistant, ToolCalls: []chat.ToolCall{c}}, ""}, // too many to remember
		{chat.Message{Role: chat.Assistant, ToolCalls: []chat.ToolCall{{ID: "a", Arguments: `{"x": 2}`}}}, ""},
		{chat.Message{Role: chat.Assistant, Reasoning: "mine", ToolCalls: []chat.ToolCall{a}}, "mine"},
		{chat.Message{Role: chat.User, Content: "x"}, ""},
	} {
		c := &conversation{messages: []chat.Message{tt.turn}}
		if got := s.recall(c)[0].Reasoning; got != tt.want || c.messages[0].Reasoning != tt.turn.Reasoning {
			t.Errorf("%+v: %q; expected %q", tt.turn, got, tt.want)
		}
	}
	if w, ok := m.of("c"); !ok || w.arguments != "{}" {
		t.Error("a call is forgotten as its thoughts were too long")
	}
}

// TestNumberedMemory checks that ids which are numbers belong to one conversation of one client.
func TestNumberedMemory(t *testing.T) {
	s := &Server{calls: newMemory().within("a"), format: output.FormatOf("<|tool_call_argument_begin|>")}
	talk := func(user string) *conversation {
		return &conversation{messages: []chat.Message{{Role: chat.User, Content: user}, {Role: chat.Assistant, ToolCalls: []chat.ToolCall{{ID: "functions.now:0", Name: "now", Arguments: "{}"}}}}}
	}
	s.calls.add(s.rememberedID("functions.now:0", func() string { return talk("x").past(1) }), written{"{}", "why"})
	for _, c := range []struct{ scope, user, want string }{{"a", "x", "why"}, {"a", "y", ""}, {"b", "x", ""}} {
		s.calls = s.calls.within(c.scope)
		if got := s.recall(talk(c.user))[1].Reasoning; got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
