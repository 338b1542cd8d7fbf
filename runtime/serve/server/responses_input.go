package server

import (
	"bytes"
	"encoding/json"
	"fmt"

	"mla/runtime/text/chat"
)

// inputItem is a message, a call of a tool, its output, or thoughts.
type inputItem struct {
	Type      string       `json:"type"`
	ID        string       `json:"id"`
	Role      string       `json:"role"`
	Content   parts        `json:"content"`
	Summary   parts        `json:"summary"`
	CallID    string       `json:"call_id"`
	Namespace string       `json:"namespace"`
	Name      string       `json:"name"`
	Arguments argumentText `json:"arguments"`
	Input     string       `json:"input"`
	Action    raw          `json:"action"`
	Operation raw          `json:"operation"`
	Output    outputText   `json:"output"`
}

// outputText is the result of a tool: a text, a list of parts, or any JSON value.
type outputText struct{ parts }

// UnmarshalJSON implements json.Unmarshaler.
func (o *outputText) UnmarshalJSON(data []byte) error {
	if o.parts.UnmarshalJSON(data) != nil {
		o.parts = parts{text: string(data)}
	}
	return nil
}

// inputItems is a text or a list of items, undecoded.
type inputItems []raw

// UnmarshalJSON implements json.Unmarshaler.
func (l *inputItems) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case 'n':
		return nil
	case '"':
		*l = inputItems{raw(`{"role": "user", "content": ` + string(data) + `}`)}
		return nil
	}
	if json.Unmarshal(data, (*[]raw)(l)) != nil {
		return bad("input", "expected a text or a list of items")
	}
	for i := range *l { // a copy, as the body's memory is freed
		(*l)[i] = bytes.Clone((*l)[i])
	}
	return nil
}

// expand returns the input with everything that it refers to: the previous response, and single items.
func (q *responsesRequest) expand(s *Server) (list []raw, err error) {
	if !isNull(q.Previous) {
		var id string
		if json.Unmarshal(q.Previous, &id) != nil {
			return nil, bad("previous_response_id", "expected a string")
		}
		before, ok := s.items.find(s.scope, id)
		if !ok {
			return nil, bad("previous_response_id", "no response %q is remembered; send the whole conversation as input", clip(id, 100))
		}
		list = append(list, before...)
	}
	for i, text := range q.Input {
		var item struct {
			Type string `json:"type"`
			ID   string `json:"id"`
			Role string `json:"role"`
		}
		if json.Unmarshal(text, &item) != nil {
			item.Type = "" // the error comes later
		}
		if item.Type != "item_reference" && (item.Type != "" || item.Role != "" || item.ID == "") {
			list = append(list, text)
			continue
		}
		found, ok := s.items.find(s.scope, item.ID)
		if !ok {
			return nil, bad(fmt.Sprintf("input[%d]", i), "no item %q is remembered; send the item itself", clip(item.ID, 100))
		}
		list = append(list, found...)
	}
	return list, nil
}

// turns converts items to messages. Thoughts and calls become part of the assistant's turn.
type turns struct {
	*conversation
}

// assistant is the assistant's last turn if it fits, else a new one.
func (t turns) assistant(fits func(*chat.Message) bool) *chat.Message {
	if n := len(t.messages); n > 0 && t.messages[n-1].Role == chat.Assistant && fits(&t.messages[n-1]) {
		return &t.messages[n-1]
	}
	t.messages = append(t.messages, chat.Message{Role: chat.Assistant})
	return &t.messages[len(t.messages)-1]
}

// itemKinds reads the items that are not messages, by type.
var itemKinds = map[string]func(t turns, param string, item *inputItem) error{
	"reasoning":               turns.thoughts,
	"function_call":           func(t turns, p string, i *inputItem) error { return t.call(p, i, i.Name, string(i.Arguments)) },
	"custom_tool_call":        func(t turns, p string, i *inputItem) error { return t.call(p, i, i.Name, member("input", i.Input)) },
	"local_shell_call":        func(t turns, p string, i *inputItem) error { return t.call(p, i, "local_shell", string(i.Action)) },
	"shell_call":              func(t turns, p string, i *inputItem) error { return t.call(p, i, "shell", string(i.Action)) },
	"apply_patch_call":        func(t turns, p string, i *inputItem) error { return t.call(p, i, "apply_patch", string(i.Operation)) },
	"mcp_call":                turns.called,
	"function_call_output":    turns.output,
	"custom_tool_call_output": turns.output,
	"local_shell_call_output": turns.output,
	"shell_call_output":       turns.output,
	"apply_patch_call_output": turns.output,
	"tool_search_output":      turns.nothing,
	// Work of a service for another model. The results are in that model's answer.
	"web_search_call": turns.nothing, "file_search_call": turns.nothing, "code_interpreter_call": turns.nothing, "image_generation_call": turns.nothing,
	"computer_call": turns.nothing, "computer_call_output": turns.nothing, "tool_search_call": turns.nothing, "compaction": turns.nothing,
	"mcp_list_tools": turns.nothing, "mcp_approval_request": turns.nothing, "mcp_approval_response": turns.nothing, "additional_tools": turns.nothing, "ghost_snapshot": turns.nothing,
}

// nothing ignores an item.
func (turns) nothing(string, *inputItem) error { return nil }

func (t turns) thoughts(_ string, item *inputItem) error {
	text := item.Content.text
	set(&text, item.Summary.text)
	if text != "" {
		t.assistant(func(*chat.Message) bool { return false }).Reasoning = text
	}
	return nil
}

func (t turns) call(param string, item *inputItem, name, arguments string) error {
	id := item.CallID
	set(&id, item.ID)
	call, err := replay(param, id, withNamespace(item.Namespace, name), arguments)
	if err == nil {
		m := t.assistant(func(*chat.Message) bool { return true })
		m.ToolCalls = append(m.ToolCalls, call)
	}
	return err
}

// called adds a call with its output.
func (t turns) called(param string, item *inputItem) error {
	if err := t.call(param, item, item.Name, string(item.Arguments)); err != nil {
		return err
	}
	item.CallID = item.ID
	return t.output(param, item)
}

func (t turns) output(_ string, item *inputItem) error {
	id := item.CallID
	set(&id, item.ID)
	t.add(chat.Message{Role: chat.Tool, ToolCallID: id}, item.Output.parts)
	return nil
}

// message adds a message of any role.
func (t turns) message(param string, item *inputItem) error {
	if item.Role == chat.Assistant {
		m := t.assistant(func(m *chat.Message) bool { return m.Content == "" && len(m.ToolCalls) == 0 })
		m.Content = item.Content.text
		set(&m.Reasoning, item.Content.thoughts)
		return nil
	}
	role, err := readRole(param+".role", item.Role)
	if err == nil {
		t.add(chat.Message{Role: role}, item.Content)
	}
	return err
}

// read adds an item.
func (t turns) read(param string, text raw) error {
	var item inputItem
	if err := decodeItem(param, text, &item); err != nil {
		return err
	}
	if item.Type == "" || item.Type == "message" || item.Type == "agent_message" {
		return t.message(param, &item)
	}
	read := itemKinds[item.Type]
	if read == nil {
		return bad(param, "an item of type %q is not supported", clip(item.Type, 50))
	}
	return read(t, param, &item)
}

// decodeItem decodes one item of a list; errors name the item.
func decodeItem(param string, text raw, to any) error {
	err := decodeJSON(text, to)
	if known, ok := err.(*apiError); ok {
		known.Message, known.Param = param+": "+known.Message, param
	}
	return err
}

// member is the JSON text of an object with one string.
func member(name, text string) string {
	data, _ := json.Marshal(map[string]string{name: text}) // strings can always be encoded
	return string(data)
}

// withNamespace is the name by which a function of a namespace is declared.
func withNamespace(namespace, name string) string {
	switch {
	case namespace == "":
		return name
	case len(namespace) > 2 && namespace[len(namespace)-2:] == "__":
		return namespace + name
	}
	return namespace + "__" + name
}
