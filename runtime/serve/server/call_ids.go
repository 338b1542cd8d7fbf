package server

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"maps"
	"strings"

	"mla/runtime/text/chat"
	"mla/runtime/text/chat/output"
)

// callNames assigns ids to calls, in the model's format.
type callNames struct {
	format *output.Format
	before int             // number of calls in the conversation
	used   map[string]bool // ids
}

// callNames returns the names for calls after a conversation.
func (s *Server) callNames(c *conversation) callNames {
	n := callNames{format: s.format, before: c.calls(), used: map[string]bool{}}
	for _, m := range c.messages {
		for _, call := range m.ToolCalls {
			n.used[call.ID] = true
		}
	}
	return n
}

// calls counts the calls of a conversation.
func (c *conversation) calls() (n int) {
	for _, m := range c.messages {
		n += len(m.ToolCalls)
	}
	return n
}

// copy returns names for another answer to the same conversation.
func (n callNames) copy() callNames {
	n.used = maps.Clone(n.used)
	return n
}

// next is the id of an answer's next call; begun is the number of its earlier calls. An id that the model has
// written is used unless it is taken, so that the model finds its own id in the next prompt.
func (n *callNames) next(e output.Event, begun int) string {
	id := ""
	switch f := n.format; {
	case f == nil || !f.Numbered && f.IDLength == 0:
		id = newID("call_")
	case f.Numbered:
		id = e.ID
		for i := n.before + begun; id == "" || n.used[id]; i++ {
			id = output.NumberedID(e.Text, i)
		}
	default:
		if id = e.ID; !fits(id, f.IDLength) || n.used[id] {
			id = rand.Text()[:f.IDLength]
		}
	}
	if n.used != nil {
		n.used[id] = true
	}
	return id
}

// fits says whether an id has exactly this length, and only letters and digits.
func fits(id string, length int) bool {
	odd := func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') }
	return len(id) == length && !strings.ContainsFunc(id, odd)
}

// fitIDs replaces the ids of calls and results by ids of a fixed length, where a template needs that. A
// client may continue a conversation that another model has begun.
func fitIDs(messages []chat.Message, length int) {
	fit := func(id string) string {
		if id == "" || fits(id, length) {
			return id
		}
		sum := sha256.Sum256([]byte(id))
		return base32.StdEncoding.EncodeToString(sum[:])[:length]
	}
	for i := range messages {
		m := &messages[i]
		m.ToolCallID = fit(m.ToolCallID)
		for j := range m.ToolCalls {
			m.ToolCalls[j].ID = fit(m.ToolCalls[j].ID)
		}
	}
}
