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

// memory remembers what the model wrote for its calls, by id: the arguments, and the thoughts before an
// answer's first call. Clients send calls back, some of them decoded and encoded again, and most without the
// thoughts. With the model's original text, the tokens are found in the pages, and the model knows why it
// called.
type memory struct {
	*remembered
	scope string // scope of requests that find a call
}

// remembered is the calls of all scopes.
type remembered struct {
	mu    sync.Mutex
	calls map[callKey]written
	keys  []callKey // oldest first
	size  int       // in bytes
}

// callKey identifies a call. Ids come from the model or the client, so different scopes may have the same id.
type callKey struct{ scope, id string }

// written is what the model wrote for a call.
type written struct{ arguments, thoughts string }

func (w written) size() int { return len(w.arguments) + len(w.thoughts) }

// Limits on remembered calls.
const (
	maxCalls     = 1 << 14
	maxCallBytes = 16 << 20
)

func newMemory() *memory {
	return &memory{remembered: &remembered{calls: map[callKey]written{}}}
}

// within is the memory for requests of a scope.
func (m *memory) within(scope string) *memory {
	if m == nil { // a router has no memory
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

// of returns what the model wrote for a call, if it is remembered.
func (m *memory) of(id string) (w written, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w, ok = m.calls[callKey{m.scope, id}]
	return w, ok
}

// recall restores the arguments of a conversation's calls as the model wrote them, and the thoughts that a
// client has left out, unless thinking is off. Calls that a client has changed stay as they are.
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

// rememberedID is the id under which a call is remembered within its scope. In some formats ids are small
// numbers, which other conversations use, too; there the key includes the conversation.
func (s *Server) rememberedID(id string, past func() string) string {
	if s.format == nil || !s.format.Numbered {
		return id
	}
	return id + " " + past()
}

// past identifies the first n messages of a conversation. Thoughts and the arguments of calls are excluded:
// clients leave out the former, and encode the latter again.
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

// sameJSON compares objects without regard to white space, the order of keys and the form of numbers: clients
// write 2.50 as 2.5.
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
		out, _ := json.Marshal(v) // a decoded value can be encoded
		return out
	}
	x := canonical(a)
	return x != nil && bytes.Equal(x, canonical(b))
}
