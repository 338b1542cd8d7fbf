package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"mla/runtime/text/chat"
)

// ollamaChat is the body of POST /api/chat.
type ollamaChat struct {
	ollamaFields
	Messages []ollamaMessage `json:"messages"`
	Tools    []raw           `json:"tools"`
}

// ollamaMessage is a message of a chat.
type ollamaMessage struct {
	Role      string       `json:"role"`
	Content   string       `json:"content"`
	Thinking  string       `json:"thinking,omitempty"`
	Images    []raw        `json:"images,omitempty"`
	ToolCalls []ollamaCall `json:"tool_calls,omitempty"`
	ToolName  string       `json:"tool_name,omitempty"` // of a tool's result
	ToolID    string       `json:"tool_call_id,omitempty"`
}

// ollamaCall is a call of a tool.
type ollamaCall struct {
	ID       string `json:"id,omitempty"`
	Function struct {
		Index     int    `json:"index"`
		Name      string `json:"name"`
		Arguments raw    `json:"arguments"` // an object
	} `json:"function"`
}

// chat is the request in OpenAI's format.
func (q *ollamaChat) chat(o *ollamaOptions) (*chatRequest, error) {
	var err error
	out := &chatRequest{sampling: o.sampling, Tools: q.Tools, MaxTokens: o.NumPredict, Stop: o.Stop, Stream: q.streams()}
	if out.ResponseFormat, err = q.format(); err != nil {
		return nil, err
	}
	q.Think.put(out)
	out.Messages, err = ollamaMessages(q.Messages)
	return out, err
}

// put sets how a request thinks.
func (t *ollamaThink) put(q *chatRequest) {
	q.EnableThinking, q.ReasoningEffort = t.on, t.effort
}

// ollamaMessages converts messages to OpenAI's format. There, results refer to calls by id; in Ollama's API
// they come in the order of the calls, or name the tool.
func ollamaMessages(list []ollamaMessage) ([]chatMessage, error) {
	out := make([]chatMessage, 0, len(list))
	var open []chatCall // without a result so far
	calls := 0
	for i, m := range list {
		if len(m.Images) > 0 {
			return nil, bad(fmt.Sprintf("messages[%d].images", i), "the model reads only text")
		}
		c := chatMessage{Role: m.Role, Content: parts{text: m.Content}, ToolCallID: m.ToolID}
		if m.Thinking != "" {
			c.Reasoning = &m.Thinking
		}
		for _, t := range m.ToolCalls {
			call := chatCall{ID: t.ID, Type: "function"}
			call.Function.Name, call.Function.Arguments = t.Function.Name, argumentText(t.Function.Arguments)
			if call.ID == "" {
				call.ID = fmt.Sprintf("call_%d", calls)
			}
			calls++
			c.ToolCalls = append(c.ToolCalls, call)
		}
		if len(c.ToolCalls) > 0 {
			open = c.ToolCalls
		}
		if m.Role == chat.Tool {
			c.Name = m.ToolName
			at := 0
			for k, call := range open {
				if call.ID == m.ToolID || m.ToolID == "" && call.Function.Name == m.ToolName {
					at = k
					break
				}
			}
			if at < len(open) {
				if c.ToolCallID == "" {
					c.ToolCallID = open[at].ID
				}
				open = append(append([]chatCall{}, open[:at]...), open[at+1:]...)
			}
		}
		out = append(out, c)
	}
	return out, nil
}

// job converts the request to a job.
func (q *ollamaChat) job(ctx context.Context, s *Server) (*job, error) {
	o, err := q.options()
	if err != nil {
		return nil, err
	}
	c, err := q.chat(&o)
	if err != nil {
		return nil, err
	}
	j, err := c.job(ctx, s)
	if err != nil {
		return nil, err
	}
	return j, o.withinContext(s, j)
}

// forget implements forgetful.
func (q *ollamaChat) forget() { q.Messages, q.Tools, q.Format = nil, nil, nil }

// loads says whether the request only wants the model to be loaded.
func (q *ollamaChat) loads() bool { return len(q.Messages) == 0 }

// ollamaChats serves POST /api/chat.
func (s *Server) ollamaChats(w http.ResponseWriter, r *http.Request) error {
	var q ollamaChat
	return s.answerOllama(w, r, &q, &q.ollamaFields, func(p ollamaPiece) map[string]any {
		m := ollamaMessage{Role: chat.Assistant, Content: p.text, Thinking: p.thinking}
		for i, c := range p.calls {
			call := ollamaCall{ID: c.id}
			call.Function.Index, call.Function.Name, call.Function.Arguments = i+p.before, c.name, json.RawMessage(c.arguments)
			m.ToolCalls = append(m.ToolCalls, call)
		}
		return map[string]any{"message": m}
	})
}
