package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"mla/runtime/chat"
)

// responsesRequest is the body of POST /v1/responses. Nothing is stored: a client sends
// the whole conversation.
type responsesRequest struct {
	sampling
	structured
	Input         inputItems     `json:"input"`
	Instructions  content        `json:"instructions"`
	MaxOutput     *int           `json:"max_output_tokens"`
	Tools         []responseTool `json:"tools"`
	ToolChoice    raw            `json:"tool_choice"`
	ParallelCalls *bool          `json:"parallel_tool_calls"`
	ContinueFinal bool           `json:"continue_final_message"` // vLLM's name
	Previous      raw            `json:"previous_response_id"`
	Conversation  raw            `json:"conversation"`
	Background    bool           `json:"background"`
	Stream        bool           `json:"stream"`
	Reasoning     struct {
		Effort string `json:"effort"`
	} `json:"reasoning"`
	Text struct {
		Format *responseFormat `json:"format"`
	} `json:"text"`
}

type responseTool struct {
	Type        string `json:"type"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Parameters  raw    `json:"parameters"`
	Strict      bool   `json:"strict"`
}

// inputItem is a message, a call of a tool, its output, or thoughts.
type inputItem struct {
	Type      string  `json:"type"`
	Role      string  `json:"role"`
	Content   content `json:"content"`
	CallID    string  `json:"call_id"`
	Name      string  `json:"name"`
	Arguments string  `json:"arguments"`
	Output    content `json:"output"`
}

// inputItems are a text or a list of items.
type inputItems []inputItem

// UnmarshalJSON implements json.Unmarshaler.
func (l *inputItems) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
		*l = inputItems{{Role: chat.User, Content: content(text)}}
		return nil
	}
	err := json.Unmarshal(data, (*[]inputItem)(l))
	var known *apiError
	if err != nil && !errors.As(err, &known) {
		return bad("input", "expected a text or a list of items")
	}
	return err
}

// conversation is what the request wants answered. Thoughts and calls belong to the
// assistant's turn that they are a part of.
func (q *responsesRequest) conversation(s *Server) (*conversation, error) {
	c := &conversation{oneCall: isFalse(q.ParallelCalls), whole: !q.ContinueFinal}
	if q.Reasoning.Effort == "none" {
		c.thinking = new(bool)
	}
	if q.Instructions != "" {
		c.messages = append(c.messages, chat.Message{Role: chat.System, Content: string(q.Instructions)})
	}
	turn := func(fits func(*chat.Message) bool) *chat.Message {
		if n := len(c.messages); n > 0 && c.messages[n-1].Role == chat.Assistant && fits(&c.messages[n-1]) {
			return &c.messages[n-1]
		}
		c.messages = append(c.messages, chat.Message{Role: chat.Assistant})
		return &c.messages[len(c.messages)-1]
	}
	for i, item := range q.Input {
		param := fmt.Sprintf("input[%d]", i)
		switch {
		case item.Type == "reasoning":
			turn(func(m *chat.Message) bool { return false }).Reasoning = string(item.Content)
		case item.Type == "function_call":
			call, err := s.replay(param, item.CallID, item.Name, item.Arguments)
			if err != nil {
				return nil, err
			}
			m := turn(func(*chat.Message) bool { return true })
			m.ToolCalls = append(m.ToolCalls, call)
		case item.Type == "function_call_output":
			c.messages = append(c.messages, chat.Message{Role: chat.Tool, Content: string(item.Output), ToolCallID: item.CallID})
		case item.Type != "" && item.Type != "message":
			return nil, bad(param, "an item of type %q is not supported", clip(item.Type, 50))
		case item.Role == chat.Assistant:
			turn(func(m *chat.Message) bool { return m.Content == "" && len(m.ToolCalls) == 0 }).Content = string(item.Content)
		default:
			role, err := readRole(param+".role", item.Role)
			if err != nil {
				return nil, err
			}
			c.messages = append(c.messages, chat.Message{Role: role, Content: string(item.Content)})
		}
	}
	if len(c.messages) == 0 {
		return nil, bad("input", "there is none")
	}
	return c, q.tools(c)
}

// tools reads what may be called.
func (q *responsesRequest) tools(c *conversation) (err error) {
	if len(q.Tools) > maxTools {
		return bad("tools", "more than %d", maxTools)
	}
	for i, t := range q.Tools {
		param := fmt.Sprintf("tools[%d]", i)
		if t.Type != "function" {
			return bad(param, "a tool of type %q; expected function", clip(t.Type, 50))
		}
		tool, err := declare(param+".name", t.Name, t.Description, t.Strict, t.Parameters)
		if err != nil {
			return err
		}
		c.tools = append(c.tools, tool)
	}
	c.choice, err = readChoice(q.ToolChoice, c.tools)
	return err
}

// job is the job of the request.
func (q *responsesRequest) job(ctx context.Context, s *Server) (*job, error) {
	switch {
	case !isNull(q.Previous):
		return nil, bad("previous_response_id", "the server stores no responses; send the whole conversation as input")
	case !isNull(q.Conversation):
		return nil, bad("conversation", "the server stores no conversations; send the whole one as input")
	case q.Background:
		return nil, bad("background", "is not supported")
	}
	c, err := q.conversation(s)
	if err != nil {
		return nil, err
	}
	if c.grammar, err = s.grammarOf(q.structured, q.Text.Format, "text.format"); err != nil {
		return nil, err
	}
	j, err := s.chatJob(ctx, c)
	if err != nil {
		return nil, err
	}
	if j.params, err = q.params(s.cfg.Sampling, s.tok); err != nil {
		return nil, err
	}
	j.max, err = most("max_output_tokens", q.MaxOutput)
	return j, err
}

// response is an answer as far as it has come.
type response struct {
	ID         string         `json:"id"`
	Object     string         `json:"object"`
	Created    int64          `json:"created_at"`
	Status     string         `json:"status"`
	Model      string         `json:"model"`
	Output     []any          `json:"output"`
	Usage      any            `json:"usage"`
	Error      any            `json:"error"`
	Incomplete any            `json:"incomplete_details"`
	Parallel   bool           `json:"parallel_tool_calls"`
	ToolChoice any            `json:"tool_choice"`
	Tools      []responseTool `json:"tools"`
	Store      bool           `json:"store"`
}

func (s *Server) newResponse(q *responsesRequest) *response {
	r := &response{ID: newID("resp_"), Object: "response", Created: time.Now().Unix(), Status: "in_progress", Model: s.cfg.Model, Output: []any{},
		Parallel: q.ParallelCalls == nil || *q.ParallelCalls, ToolChoice: "auto", Tools: q.Tools}
	if !isNull(q.ToolChoice) {
		r.ToolChoice = q.ToolChoice
	}
	if r.Tools == nil {
		r.Tools = []responseTool{}
	}
	return r
}

// end completes a response.
func (r *response) end(e *ending, u account) {
	r.Status = "completed"
	if e.finish() == "length" {
		r.Status, r.Incomplete = "incomplete", map[string]any{"reason": "max_output_tokens"}
	}
	r.Usage = map[string]any{"input_tokens": u.prompt, "input_tokens_details": map[string]any{"cached_tokens": u.cached},
		"output_tokens": u.generated, "output_tokens_details": map[string]any{"reasoning_tokens": u.reasoning}, "total_tokens": u.prompt + u.generated}
}

// Items of a response's output.

func reasoningItem(id, status, text string) map[string]any {
	return map[string]any{"type": "reasoning", "id": id, "status": status, "summary": []any{}, "content": []any{map[string]any{"type": "reasoning_text", "text": text}}}
}

func messageItem(id, status string, parts ...any) map[string]any {
	return map[string]any{"type": "message", "id": id, "status": status, "role": chat.Assistant, "content": append([]any{}, parts...)}
}

func textPart(text string) map[string]any {
	return map[string]any{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": []any{}}
}

func callItem(id, status string, c call) map[string]any {
	return map[string]any{"type": "function_call", "id": id, "status": status, "call_id": c.id, "name": c.name, "arguments": c.arguments}
}

// responses is POST /v1/responses.
func (s *Server) responses(w http.ResponseWriter, r *http.Request) error {
	var q responsesRequest
	_, st, err := s.startRequest(w, r, &q)
	if err != nil {
		return err
	}
	out := s.newResponse(&q)
	if q.Stream {
		events := s.newSSE(w)
		return s.pump(r, st, events, newResponseWriter(events, out))
	}
	answers, err := s.collect(r, st, 1)
	if err != nil {
		return err
	}
	a := answers[0]
	out.end(a.ending, st.used)
	if a.reasoning != "" {
		out.Output = append(out.Output, reasoningItem(newID("rs_"), out.Status, a.reasoning))
	}
	if a.content != "" || len(a.calls) == 0 {
		out.Output = append(out.Output, messageItem(newID("msg_"), out.Status, textPart(a.content)))
	}
	for _, c := range a.calls {
		out.Output = append(out.Output, callItem(newID("fc_"), "completed", c))
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}
