package chat

import (
	"encoding/json"
	"slices"
	"strings"
)

// escaping is a renderer that escapes what others than the model and its operator wrote:
// users, tools in their answers and in what they say of themselves, and the arguments of
// calls, which quote them. Template and system message are the operator's. What assistants
// say stays as it is, as templates look for thoughts in it.
type escaping struct {
	Renderer
	escape func(string) string
}

// Render implements Renderer.
func (e escaping) Render(messages []Message, opts Options) (string, error) {
	messages = slices.Clone(messages)
	for i := range messages {
		m := &messages[i]
		m.Name = e.escape(m.Name)
		if m.Role == User || m.Role == Tool {
			m.Content = e.escape(m.Content)
		}
		m.ToolCalls = slices.Clone(m.ToolCalls)
		for j := range m.ToolCalls {
			c := &m.ToolCalls[j]
			c.ID, c.Name, c.Arguments = e.escape(c.ID), e.escape(c.Name), e.json(c.Arguments)
		}
		m.ToolCallID = e.escape(m.ToolCallID)
	}
	opts.Tools = slices.Clone(opts.Tools)
	for i, t := range opts.Tools {
		opts.Tools[i] = json.RawMessage(e.json(string(t)))
	}
	return e.Renderer.Render(messages, opts)
}

// json escapes the strings of a JSON text, which may write any character as \u and digits.
// A text without control tokens stays as it is.
func (e escaping) json(text string) string {
	if strings.Contains(text, `\u`) {
		plain, err := PythonJSON(text)
		if err != nil || e.escape(plain) == plain {
			return text // if it is no JSON, the renderer says so
		}
		text = plain
	}
	return e.escape(text)
}
