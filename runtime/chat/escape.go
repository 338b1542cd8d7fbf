package chat

import (
	"encoding/json"
	"slices"
	"strings"
)

// escaping is a renderer that escapes what messages and tools say, so that only the template
// and the system message, which are the operator's, have control tokens. What an assistant
// has said, and what it has called, may quote others.
type escaping struct {
	Renderer
	escape func(string) string
}

// Render implements Renderer.
func (e escaping) Render(messages []Message, opts Options) (string, error) {
	messages = slices.Clone(messages)
	for i := range messages {
		m := &messages[i]
		switch m.Role {
		case System:
		case Assistant:
			m.Content, m.Reasoning = e.said(m.Content), e.said(m.Reasoning)
		default:
			m.Content = e.escape(m.Content)
		}
		m.Role, m.Name, m.ToolCallID = e.escape(m.Role), e.escape(m.Name), e.escape(m.ToolCallID)
		m.ToolCalls = slices.Clone(m.ToolCalls)
		for j := range m.ToolCalls {
			c := &m.ToolCalls[j]
			c.ID, c.Name, c.Arguments = e.escape(c.ID), e.escape(c.Name), e.json(c.Arguments)
		}
	}
	opts.Tools = slices.Clone(opts.Tools)
	for i, t := range opts.Tools {
		opts.Tools[i] = json.RawMessage(e.json(string(t)))
	}
	return e.Renderer.Render(messages, opts)
}

// said escapes what an assistant has said, but for the marks of its thoughts, which templates
// look for and which are control tokens of some models.
func (e escaping) said(text string) string {
	var out strings.Builder
	for {
		at, mark := len(text), ""
		for _, m := range []string{"<think>", "</think>"} {
			if i := strings.Index(text, m); i >= 0 && i < at {
				at, mark = i, m
			}
		}
		out.WriteString(e.escape(text[:at]) + mark)
		if mark == "" {
			return out.String()
		}
		text = text[at+len(mark):]
	}
}

// json escapes the strings of a JSON text, which may write characters in other ways. A text
// without control tokens stays as it is.
func (e escaping) json(text string) string {
	if strings.Contains(text, `\`) {
		plain, err := PythonJSON(text)
		if err == nil && e.escape(plain) == plain {
			return text
		}
		if err == nil {
			text = plain
		}
	}
	return e.escape(text)
}
