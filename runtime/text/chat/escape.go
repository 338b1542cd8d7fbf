package chat

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// escaping is a renderer that escapes the texts of messages and tools, so that only the template and the
// system message, which come from the operator, have control tokens. An assistant's texts and calls are
// escaped, too, because they may quote others.
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
	opts.Variables = maps.Clone(opts.Variables)
	for name, text := range opts.Variables {
		opts.Variables[name] = json.RawMessage(e.json(string(text)))
	}
	opts.Effort = e.escape(opts.Effort)
	return e.Renderer.Render(messages, opts)
}

// thoughtMark matches a marker of an assistant's thoughts. Templates look for it, and it is a control token
// of some models.
var thoughtMark = regexp.MustCompile(`</?think>`)

// said escapes an assistant's text, except the markers of its thoughts.
func (e escaping) said(text string) string {
	var out strings.Builder
	from := 0
	for _, mark := range thoughtMark.FindAllStringIndex(text, -1) {
		out.WriteString(e.escape(text[from:mark[0]]) + text[mark[0]:mark[1]])
		from = mark[1]
	}
	return out.String() + e.escape(text[from:])
}

// json escapes the strings of a JSON text, which may encode characters in several ways. A text without
// control tokens is returned unchanged.
func (e escaping) json(text string) string {
	if strings.Contains(text, `\`) {
		if plain, err := PythonJSON(text); err == nil {
			if e.escape(plain) == plain {
				return text
			}
			text = plain
		}
	}
	return e.escape(text)
}
