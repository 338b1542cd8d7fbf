package server

import (
	"encoding/json"
	"fmt"

	"mla/runtime/text/chat"
	"mla/runtime/text/chat/output"
)

// functionFields is the form in which OpenAI's chats declared functions before there were tools. An answer
// then has at most one call, and the call has no id.
type functionFields struct {
	Functions    []raw `json:"functions"`
	FunctionCall raw   `json:"function_call"`
}

// functionCall is a call of such a function, or a part of one in a stream.
type functionCall struct {
	Name      string       `json:"name,omitempty"`
	Arguments argumentText `json:"arguments"`
}

// asTools converts the functions to tools.
func (q *chatRequest) asTools() error {
	if len(q.Functions) == 0 {
		return nil
	}
	if len(q.Tools) > 0 {
		return bad("functions", "there are tools, too; expected one of them")
	}
	if len(q.Functions) > maxTools {
		return bad("functions", "more than %d", maxTools)
	}
	for i, text := range q.Functions {
		var f struct {
			Name string `json:"name"`
		}
		param := fmt.Sprintf("functions[%d]", i)
		if json.Unmarshal(text, &f) != nil {
			return bad(param, "expected a name, and parameters that are a JSON Schema")
		}
		if err := checkName(param+".name", f.Name); err != nil {
			return err
		}
		q.Tools = append(q.Tools, raw(`{"type": "function", "function": `+string(text)+`}`))
	}
	one := false
	q.ParallelCalls = &one
	return q.chooseFunction()
}

// chooseFunction reads which function must be called.
func (q *chatRequest) chooseFunction() error {
	var word string
	if isNull(q.FunctionCall) || json.Unmarshal(q.FunctionCall, &word) == nil && (word == "auto" || word == "none") {
		q.ToolChoice = q.FunctionCall
		return nil
	}
	var one struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(q.FunctionCall, &one) != nil || one.Name == "" {
		return bad("function_call", `%s; expected auto, none, or {"name": NAME}`, clip(string(q.FunctionCall), 100))
	}
	choice, err := json.Marshal(map[string]any{"type": "function", "function": one})
	q.ToolChoice = choice
	return err
}

// calledFunction adds the call of an earlier message in this form, with an id by which templates match the
// call and its result.
func (m *chatMessage) calledFunction(s *Server, c *conversation, param string, out *chat.Message) error {
	if m.Role == "function" && out.ToolCallID == "" {
		out.ToolCallID = c.lastCall()
	}
	if m.FunctionCall == nil {
		return nil
	}
	name := m.FunctionCall.Name
	id := fmt.Sprintf("call_%d", c.calls())
	if s.format != nil && s.format.Numbered {
		id = output.NumberedID(name, c.calls())
	}
	call, err := replay(param, id, name, string(m.FunctionCall.Arguments))
	out.ToolCalls = append(out.ToolCalls, call)
	return err
}

// lastCall is the id of the conversation's last call; "": there is none.
func (c *conversation) lastCall() string {
	for i := len(c.messages) - 1; i >= 0; i-- {
		if calls := c.messages[i].ToolCalls; len(calls) > 0 {
			return calls[len(calls)-1].ID
		}
	}
	return ""
}

// called adds calls to a message, in the form in which the request has declared functions.
func (q *chatRequest) called(m *chatDelta, calls ...chatCall) {
	if len(q.Functions) == 0 {
		m.Calls = append(m.Calls, calls...)
		return
	}
	for i := range calls {
		m.Function = &functionCall{calls[i].Function.Name, calls[i].Function.Arguments}
	}
}

// finish is the reason for the end, in the terms of the request's form.
func (q *chatRequest) finish(e *ending) string {
	finish := e.finish()
	if finish == "tool_calls" && len(q.Functions) > 0 {
		return "function_call"
	}
	return finish
}
