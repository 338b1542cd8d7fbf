package server

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"

	"mla/runtime/chat"
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

// think gives the model's turns that call tools the thoughts that a client has left out, if
// it has not changed the calls that they led to.
func (m *memory) think(messages []chat.Message) []chat.Message {
	messages = slices.Clone(messages)
	for i := range messages {
		t := &messages[i]
		if t.Role != chat.Assistant || t.Reasoning != "" {
			continue
		}
		for _, c := range t.ToolCalls {
			if w, ok := m.of(c.ID); ok && w.arguments == c.Arguments && w.thoughts != "" {
				t.Reasoning = w.thoughts
			}
		}
	}
	return messages
}

// arguments are those of a call as the model wrote them, if it did write these; else as
// models write them.
func (m *memory) arguments(id, given string) (string, error) {
	if w, ok := m.of(id); ok && (w.arguments == given || sameJSON(w.arguments, given)) {
		return w.arguments, nil
	}
	return chat.PythonJSON(given)
}

// sameJSON compares objects without regard to white space and the order of keys.
func sameJSON(a, b string) bool {
	canonical := func(text string) []byte {
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
