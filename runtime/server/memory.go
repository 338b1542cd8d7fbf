package server

import (
	"bytes"
	"encoding/json"
	"sync"

	"mla/runtime/chat"
)

// memory has the arguments of calls as the model wrote them, by the ids of the calls.
// Clients send calls back, some of them after decoding and encoding: written as the model
// has written them, their tokens are found in the pages.
type memory struct {
	mu   sync.Mutex
	args map[string]string
	ids  []string // the oldest first
	size int      // bytes
}

// Limits on what is remembered.
const (
	maxCalls     = 1 << 14
	maxCallBytes = 16 << 20
)

func newMemory() *memory { return &memory{args: map[string]string{}} }

// add remembers a call.
func (m *memory) add(c call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.args[c.id]; ok || len(c.arguments) > maxCallBytes/16 {
		return
	}
	m.args[c.id] = c.arguments
	m.ids = append(m.ids, c.id)
	m.size += len(c.arguments)
	for len(m.ids) > maxCalls || m.size > maxCallBytes {
		m.size -= len(m.args[m.ids[0]])
		delete(m.args, m.ids[0])
		m.ids = m.ids[1:]
	}
}

// arguments are those of a call as the model wrote them, if it did write these; else as
// models write them.
func (m *memory) arguments(id, given string) (string, error) {
	m.mu.Lock()
	written, ok := m.args[id]
	m.mu.Unlock()
	if ok && (written == given || sameJSON(written, given)) {
		return written, nil
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
