package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"mla/runtime/text/chat"
)

// memory has what the model wrote of its calls, by their ids: the arguments, and the thoughts
// before the first call of an answer. Clients send calls back, some of them after decoding
// and encoding, and most without the thoughts. Written as the model has written them, their
// tokens are found in the pages, and the model knows why it called.
type memory struct {
	*remembered
	scope string // of requests that find a call
}

// remembered are the calls of all scopes.
type remembered struct {
	mu    sync.Mutex
	calls map[callKey]written
	keys  []callKey // the oldest first
	size  int       // bytes
}

// callKey is a call. Ids are the model's or the client's, so equal ones may come from others.
type callKey struct{ scope, id string }

// written is what the model wrote of a call.
type written struct{ arguments, thoughts string }

func (w written) size() int { return len(w.arguments) + len(w.thoughts) }

// Limits on what is remembered.
const (
	maxCalls     = 1 << 14
	maxCallBytes = 16 << 20
)

func newMemory() *memory {
	return &memory{remembered: &remembered{calls: map[callKey]written{}}}
}

// within is the memory as requests of a scope have it.
func (m *memory) within(scope string) *memory {
	if m == nil { // a router's
		return nil
	}
	return &memory{m.remembered, scope}
}

// add remembers a call.
func (m *memory) add(id string, w written) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if w.size() > maxCallBytes/16 {
		w.thoughts = ""
	}
	key := callKey{m.scope, id}
	if _, ok := m.calls[key]; ok || w.size() > maxCallBytes/16 {
		return
	}
	m.calls[key] = w
	m.keys = append(m.keys, key)
	m.size += w.size()
	for len(m.keys) > maxCalls || m.size > maxCallBytes {
		m.size -= m.calls[m.keys[0]].size()
		delete(m.calls, m.keys[0])
		m.keys = m.keys[1:]
	}
}

// of is what the model wrote of a call, if it is known.
func (m *memory) of(id string) (w written, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w, ok = m.calls[callKey{m.scope, id}]
	return w, ok
}

// recall gives the calls of a conversation the arguments as the model wrote them, and the
// turns that call the thoughts that a client has left out, unless thinking is off. Of calls
// that a client has changed nothing is known.
func (s *Server) recall(c *conversation) []chat.Message {
	messages := slices.Clone(c.messages)
	for i := range messages {
		t := &messages[i]
		t.ToolCalls = slices.Clone(t.ToolCalls)
		for j := range t.ToolCalls {
			call := &t.ToolCalls[j]
			w, ok := s.calls.of(s.rememberedID(call.ID, func() string { return c.past(i) }))
			if !ok || w.arguments != call.Arguments && !sameJSON(w.arguments, call.Arguments) {
				continue
			}
			call.Arguments = w.arguments
			if t.Reasoning == "" && w.thoughts != "" && !c.off() {
				t.Reasoning = w.thoughts
			}
		}
	}
	if s.format != nil && s.format.IDLength > 0 {
		fitIDs(messages, s.format.IDLength)
	}
	return messages
}

// rememberedID is the id under which a call is remembered within its scope. The ids of some
// formats are only numbers, which other conversations have as well, so that a conversation is
// a part of it.
func (s *Server) rememberedID(id string, past func() string) string {
	if s.format == nil || !s.format.Numbered {
		return id
	}
	return id + " " + past()
}

// past identifies the first n messages of a conversation. Thoughts and the arguments of calls
// are no part of it: clients leave out the former, and write the latter anew.
func (c *conversation) past(n int) string {
	h := sha256.New()
	say := func(text string) { fmt.Fprintf(h, "%d:%s", len(text), text) }
	for _, m := range c.messages[:n] {
		say(m.Role)
		say(m.Content)
		say(m.ToolCallID)
		for _, call := range m.ToolCalls {
			say(call.ID)
			say(call.Name)
		}
	}
	return string(h.Sum(nil))
}

// sameJSON compares objects without regard to white space, the order of keys and the spelling
// of numbers: clients write 2.50 as 2.5.
func sameJSON(a, b string) bool {
	canonical := func(text string) []byte {
		text, err := chat.PythonJSON(text)
		if err != nil {
			return nil
		}
		var v any
		d := json.NewDecoder(bytes.NewReader([]byte(text)))
		d.UseNumber()
		if d.Decode(&v) != nil {
			return nil
		}
		out, _ := json.Marshal(v) // what was decoded can be encoded
		return out
	}
	x := canonical(a)
	return x != nil && bytes.Equal(x, canonical(b))
}
