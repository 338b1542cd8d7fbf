package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"mla/runtime/text/chat"
)

type anthropicTurn struct {
	Role    string `json:"role"`
	Content blocks `json:"content"`
}

type anthropicTool struct {
	Type        string `json:"type"`
	Name        string `json:"name"`
	Description string `json:"description"`
	InputSchema raw    `json:"input_schema"`
	Strict      bool   `json:"strict"`
}

type anthropicChoice struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	OneCall bool   `json:"disable_parallel_tool_use"`
}

type anthropicThinking struct {
	Type    string `json:"type"`
	Budget  *int   `json:"budget_tokens"`
	Display string `json:"display"`
}

// show returns the part of thoughts that a client wants to see; nil: no block of thoughts at all. A client
// that has not asked for thoughts expects text in the first block.
func (t *anthropicThinking) show(thoughts string) *string {
	if thoughts == "" || t.Type == "" || t.Type == "disabled" {
		return nil
	}
	if t.Display == "omitted" {
		thoughts = ""
	}
	return &thoughts
}

// block is a content block of a turn.
type block struct {
	part
	ID        string `json:"id"`
	Name      string `json:"name"`
	Input     raw    `json:"input"`
	ToolUseID string `json:"tool_use_id"`
	Result    parts  `json:"-"` // the result of a tool
}

// UnmarshalJSON implements json.Unmarshaler.
func (b *block) UnmarshalJSON(data []byte) error {
	type plain block
	if err := json.Unmarshal(data, (*plain)(b)); err != nil || b.Type != "tool_result" || len(b.Content) == 0 {
		return err
	}
	return b.Result.UnmarshalJSON(b.Content)
}

// blocks is a text or a list of blocks.
type blocks []block

// UnmarshalJSON implements json.Unmarshaler.
func (b *blocks) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case 'n':
		return nil
	case '"':
		var text string
		err := json.Unmarshal(data, &text)
		*b = blocks{{part: part{Type: "text", Text: &text}}}
		return err
	}
	err := json.Unmarshal(data, (*[]block)(b))
	var known *apiError
	if err != nil && !errors.As(err, &known) {
		return bad("messages.content", "expected a text or a list of blocks")
	}
	return err
}

// headerMark is the beginning of system blocks that are not meant for the model. Claude Code sends
// x-anthropic-billing-header with a changing hash, with which no prompt would share its beginning with the
// previous one.
const headerMark = "x-anthropic-"

// system is the text of a system message.
func (b blocks) system() (parts, error) {
	var out parts
	for i := range b {
		if b[i].Text == nil || !strings.HasPrefix(*b[i].Text, headerMark) {
			out.add(&b[i].part)
		}
	}
	out.finish()
	if out.unread != "" {
		return out, bad("system", "a block of type %q; the model reads only text", clip(out.unread, 50))
	}
	return out, nil
}

// conversation converts the request to a conversation.
func (q *messagesRequest) conversation(*Server) (*conversation, error) {
	c := &conversation{list: "messages", oneCall: q.ToolChoice.OneCall, whole: isFalse(q.ContinueFinal)}
	system, err := q.System.system()
	if err != nil {
		return nil, err
	}
	if system.text != "" {
		c.add(chat.Message{Role: chat.System}, system)
	}
	for i, turn := range q.Messages {
		if err := turn.read(fmt.Sprintf("messages[%d]", i), c); err != nil {
			return nil, err
		}
	}
	if c.thinking, err = thinkingType(q.Thinking.Type); err != nil {
		return nil, err
	}
	c.budget = q.Thinking.Budget
	if c.thinking != nil && *c.thinking { // an effort alone does not ask for thoughts
		c.effort = q.Output.Effort
	}
	for _, edit := range q.Management.Edits {
		c.keep = c.keep || strings.HasPrefix(edit.Type, "clear_thinking") && string(edit.Keep) == `"all"`
	}
	return c, q.tools(c)
}

// read adds the messages of a turn: results of tools, then the user's text.
func (t *anthropicTurn) read(param string, c *conversation) error {
	switch t.Role {
	case chat.System:
		text, err := t.Content.system()
		if err == nil && text.text != "" {
			c.add(chat.Message{Role: chat.System}, text)
		}
		return err
	case chat.User, chat.Assistant:
	default:
		return bad(param+".role", "%q; expected user, assistant or system", clip(t.Role, 50))
	}
	m := chat.Message{Role: t.Role}
	var said parts
	results := 0
	for i := range t.Content {
		b := &t.Content[i]
		switch {
		case b.Type == "tool_use":
			call, err := replay(param+".content", b.ID, b.Name, string(b.Input))
			if err != nil {
				return err
			}
			m.ToolCalls = append(m.ToolCalls, call)
		case b.Type == "tool_result":
			c.add(chat.Message{Role: chat.Tool, ToolCallID: b.ToolUseID}, b.Result)
			results++
		case elsewhere(b.Type):
		default:
			said.add(&b.part)
		}
	}
	said.finish()
	if results == 0 || said.text != "" {
		c.add(m, said)
	}
	return nil
}

// elsewhere says whether a block comes from a service that worked for another model. Of its thoughts only an
// encrypted form exists. What the model said about the results is in text blocks.
func elsewhere(kind string) bool {
	switch kind {
	case "redacted_thinking", "server_tool_use", "mcp_tool_use", "mcp_tool_result", "container_upload", "compaction":
		return true
	}
	return strings.HasSuffix(kind, "_tool_result")
}

// clientTools is Anthropic's tools that run on the client, by type without the date, with the schemas of
// their arguments.
var clientTools = map[string]struct{ name, description, schema string }{
	"bash": {"bash", "Runs a command in a shell that stays open between calls.",
		`{"type": "object", "properties": {"command": {"type": "string", "description": "The command to run."}, "restart": {"type": "boolean", "description": "Starts a new shell in the place of a command."}}}`},
	"text_editor": {"str_replace_based_edit_tool", "Shows, creates and edits text files.",
		`{"type": "object", "properties": {"command": {"type": "string", "enum": ["view", "create", "str_replace", "insert", "undo_edit"]}, "path": {"type": "string"}, "file_text": {"type": "string", "description": "For create: what the file has."}, ` +
			`"old_str": {"type": "string", "description": "For str_replace: text that the file has once."}, "new_str": {"type": "string", "description": "For str_replace: what takes its place."}, "insert_text": {"type": "string", "description": "For insert."}, ` +
			`"insert_line": {"type": "integer", "description": "For insert: the line after which the text comes."}, "view_range": {"type": "array", "items": {"type": "integer"}, "description": "For view: the first and the last line."}}, "required": ["command", "path"]}`},
	"memory": {"memory", "Keeps notes in files under /memories from one conversation to the next.",
		`{"type": "object", "properties": {"command": {"type": "string", "enum": ["view", "create", "str_replace", "insert", "delete", "rename"]}, "path": {"type": "string"}, "file_text": {"type": "string"}, "old_str": {"type": "string"}, "new_str": {"type": "string"}, ` +
			`"insert_line": {"type": "integer"}, "insert_text": {"type": "string"}, "old_path": {"type": "string"}, "new_path": {"type": "string"}, "view_range": {"type": "array", "items": {"type": "integer"}}}, "required": ["command"]}`},
}

var dated = regexp.MustCompile(`_[0-9]{8}$`)

// declare declares a tool; known is false if it is left out, because only Anthropic's service can run it.
func (t *anthropicTool) declare(param string) (tool raw, known bool, err error) {
	name, description, schema := t.Name, t.Description, t.InputSchema
	if t.Type != "" && t.Type != "custom" && isNull(schema) {
		own, ok := clientTools[dated.ReplaceAllString(t.Type, "")]
		if !ok {
			return nil, false, nil
		}
		set(&name, own.name)
		set(&description, own.description)
		schema = raw(own.schema)
	}
	tool, err = declare(param+".name", name, description, t.Strict, schema)
	return tool, true, err
}

// tools reads the declared tools.
func (q *messagesRequest) tools(c *conversation) error {
	if len(q.Tools) > maxTools {
		return bad("tools", "more than %d", maxTools)
	}
	for i := range q.Tools {
		tool, known, err := q.Tools[i].declare(fmt.Sprintf("tools[%d]", i))
		switch {
		case err != nil:
			return err
		case known:
			c.tools = append(c.tools, tool)
		default:
			c.skipped = append(c.skipped, clip(q.Tools[i].Type, 50))
		}
	}
	switch q.ToolChoice.Type {
	case "", "auto":
	case "none":
		c.choice.none = true
	case "any":
		c.choice.must = true
	case "tool":
		c.choice = onlyTool(q.ToolChoice.Name)
		return declares("tool_choice", c.tools, q.ToolChoice.Name)
	default:
		return bad("tool_choice.type", "%q; expected auto, any, tool or none", clip(q.ToolChoice.Type, 50))
	}
	return nil
}
