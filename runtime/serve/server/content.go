package server

import (
	"encoding/json"
	"strings"
)

// content is a text, or a list of parts that are texts.
type content string

// UnmarshalJSON implements json.Unmarshaler.
func (c *content) UnmarshalJSON(data []byte) error {
	var p parts
	if err := p.UnmarshalJSON(data); err != nil {
		return err
	}
	if p.unread != "" {
		return bad("content", "a part of type %q; the model reads only text", clip(p.unread, 50))
	}
	*c = content(p.text)
	return nil
}

// parts is the content of a message, in any of the APIs.
type parts struct {
	text     string
	thoughts string
	unread   string // the type of a part that is not text; "": none
	// said and thought collect texts and thoughts while a list is read. Appending to a string would take
	// quadratic time.
	said, thought []string
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *parts) UnmarshalJSON(data []byte) error {
	*c = parts{}
	switch data[0] {
	case 'n':
		return nil
	case '"':
		return json.Unmarshal(data, &c.text)
	}
	var list []part
	if err := json.Unmarshal(data, &list); err != nil {
		return bad("content", "expected a text, or a list of parts")
	}
	for i := range list {
		c.add(&list[i])
	}
	c.finish()
	return nil
}

// finish joins the collected texts.
func (c *parts) finish() {
	c.text, c.thoughts = strings.Join(c.said, ""), strings.Join(c.thought, "")
	c.said, c.thought = nil, nil
}

// part is a content part of a message.
type part struct {
	Type     string          `json:"type"`
	Text     *string         `json:"text"`
	Refusal  *string         `json:"refusal"`
	Thinking json.RawMessage `json:"thinking"`
	Title    string          `json:"title"`
	Source   json.RawMessage `json:"source"`
	Content  json.RawMessage `json:"content"`
	ToolName string          `json:"tool_name"`
}

// read reads a part; false: it has no text.
func (c *parts) read(p *part) bool {
	switch p.Type {
	case "refusal":
		return c.string(p.Refusal)
	case "thinking":
		return c.thinking(p)
	case "document":
		return c.document(p)
	case "search_result":
		return c.found(p)
	case "tool_reference":
		return c.string(&p.ToolName)
	}
	return strings.HasSuffix(p.Type, "text") && c.string(p.Text)
}

// add adds a part. For a part without text, the model is told its type.
func (c *parts) add(p *part) {
	if c.read(p) {
		return
	}
	c.unread = p.Type
	if c.unread == "" {
		c.unread = "unknown"
	}
	c.say("[", clip(strings.TrimSuffix(strings.TrimPrefix(c.unread, "input_"), "_url"), 50), ": this model reads only text]")
}

func (c *parts) string(text *string) bool {
	if text != nil {
		c.say(*text)
	}
	return text != nil
}

// thinking reads thoughts, which are a text, or in Mistral's format a list of texts.
func (c *parts) thinking(p *part) bool {
	var inner parts
	if len(p.Thinking) == 0 || inner.UnmarshalJSON(p.Thinking) != nil {
		return false
	}
	c.thought = append(c.thought, inner.text)
	return true
}

// document reads a document of plain text or of parts.
func (c *parts) document(p *part) bool {
	var source struct {
		Type    string `json:"type"`
		Data    string `json:"data"`
		Content parts  `json:"content"`
	}
	if json.Unmarshal(p.Source, &source) != nil {
		return false
	}
	text := source.Data
	switch source.Type {
	case "text":
	case "content":
		text = source.Content.text
	default:
		return false
	}
	c.titled(p.Title, text)
	return true
}

// found reads a search result.
func (c *parts) found(p *part) bool {
	var inner parts
	if len(p.Content) == 0 || inner.UnmarshalJSON(p.Content) != nil {
		return false
	}
	var source string
	_ = json.Unmarshal(p.Source, &source) // if this fails, the title is enough
	c.titled(strings.TrimSpace(p.Title+" "+source), inner.text)
	return true
}

// titled adds a text under a title, separated from earlier text.
func (c *parts) titled(title, text string) {
	if n := len(c.said); n > 0 && !strings.HasSuffix(c.said[n-1], "\n") {
		c.say("\n")
	}
	if title != "" {
		c.say(title, "\n")
	}
	c.say(text, "\n")
}

// say adds texts.
func (c *parts) say(texts ...string) {
	for _, text := range texts {
		if text != "" {
			c.said = append(c.said, text)
		}
	}
}
