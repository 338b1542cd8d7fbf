package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"mla/runtime/text/chat"
)

// responsesRequest is the body of POST /v1/responses. The response is remembered for a while, unless store is
// false.
type responsesRequest struct {
	sampling
	structured
	switches
	Input         inputItems `json:"input"`
	Instructions  content    `json:"instructions"`
	MaxOutput     *int       `json:"max_output_tokens"`
	Tools         []raw      `json:"tools"`
	ToolChoice    raw        `json:"tool_choice"`
	ParallelCalls *bool      `json:"parallel_tool_calls"`
	Store         *bool      `json:"store"`
	ContinueFinal bool       `json:"continue_final_message"` // vLLM's name
	Previous      raw        `json:"previous_response_id"`
	Conversation  raw        `json:"conversation"`
	TopLogprobs   int        `json:"top_logprobs"`
	Stored        raw        `json:"prompt"` // a prompt stored by OpenAI's service
	Background    bool       `json:"background"`
	Stream        bool       `json:"stream"`
	Reasoning     struct {
		Effort string `json:"effort"`
	} `json:"reasoning"`
	Text struct {
		Format *responseFormat `json:"format"`
	} `json:"text"`

	scope  string               // of items that it refers to, and under which its own are remembered
	whole  []raw                // the input with the items that it refers to
	spaces map[string][2]string // namespaces and names of functions, by the names that they are declared with
}

// responseTool is a function, or a namespace of functions.
type responseTool struct {
	Type        string         `json:"type"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Parameters  raw            `json:"parameters"`
	Strict      bool           `json:"strict"`
	Tools       []responseTool `json:"tools"`
}

// conversation converts the request to a conversation.
func (q *responsesRequest) conversation(s *Server) (*conversation, error) {
	c := &conversation{list: "input", oneCall: isFalse(q.ParallelCalls), whole: !q.ContinueFinal, reasoning: q.reasoning()}
	set(&c.effort, q.Reasoning.Effort)
	if q.Instructions != "" {
		c.messages = append(c.messages, chat.Message{Role: chat.System, Content: string(q.Instructions)})
	}
	q.scope = s.scope
	var err error
	if q.whole, err = q.expand(s); err != nil {
		return nil, err
	}
	for i, item := range q.whole {
		if err := (turns{c}).read(fmt.Sprintf("input[%d]", i), item); err != nil {
			return nil, err
		}
	}
	if len(c.messages) == 0 {
		return nil, bad("input", "there is none")
	}
	return c, q.tools(c)
}

// tools reads the declared tools.
func (q *responsesRequest) tools(c *conversation) (err error) {
	for i, text := range q.Tools {
		param := fmt.Sprintf("tools[%d]", i)
		var t responseTool
		if err := decodeItem(param, text, &t); err != nil {
			return err
		}
		if err := q.declare(c, param, "", &t); err != nil {
			return err
		}
	}
	c.choice, err = readChoice(q.ToolChoice, c.tools)
	return err
}

// declare declares a function, or those of a namespace. It leaves out tools that only OpenAI's service can
// run, or whose calls are not JSON.
func (q *responsesRequest) declare(c *conversation, param, namespace string, t *responseTool) error {
	switch t.Type {
	case "function":
		name := withNamespace(namespace, t.Name)
		tool, err := declare(param+".name", name, t.Description, t.Strict, t.Parameters)
		if err != nil {
			return err
		}
		if c.tools = append(c.tools, tool); len(c.tools) > maxTools {
			return bad("tools", "more than %d", maxTools)
		}
		if namespace != "" {
			q.spaces[name] = [2]string{namespace, t.Name}
		}
	case "namespace":
		if q.spaces == nil {
			q.spaces = map[string][2]string{}
		}
		for i := range t.Tools {
			if err := q.declare(c, fmt.Sprintf("%s.tools[%d]", param, i), withNamespace(namespace, t.Name), &t.Tools[i]); err != nil {
				return err
			}
		}
	case "":
		return bad(param, "there is no type; expected function")
	default:
		c.skipped = append(c.skipped, clip(t.Type, 50))
	}
	return nil
}

// job converts the request to a job.
func (q *responsesRequest) job(ctx context.Context, s *Server) (*job, error) {
	switch {
	case !isNull(q.Conversation):
		return nil, bad("conversation", "the server stores no conversations; send the whole one as input")
	case !isNull(q.Stored):
		return nil, bad("prompt", "the server stores no prompts; send it as instructions and input")
	case q.TopLogprobs != 0:
		return nil, bad("top_logprobs", "log-probabilities are not in this API; /v1/chat/completions has them")
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
	if err = q.put(s, j); err != nil {
		return nil, err
	}
	j.Max, err = most("max_output_tokens", q.MaxOutput)
	return j, err
}

// response is a response so far.
type response struct {
	ID         string `json:"id"`
	Object     string `json:"object"`
	Created    int64  `json:"created_at"`
	Status     string `json:"status"`
	Model      string `json:"model"`
	Output     []any  `json:"output"`
	Usage      any    `json:"usage"`
	Error      any    `json:"error"`
	Incomplete any    `json:"incomplete_details"`
	Parallel   bool   `json:"parallel_tool_calls"`
	ToolChoice any    `json:"tool_choice"`
	Tools      []raw  `json:"tools"`
	Store      bool   `json:"store"`
	Previous   raw    `json:"previous_response_id"`

	Timings *timings `json:"timings,omitempty"` // llama-server's

	keep   func(*response)      // remembers it
	spaces map[string][2]string // responsesRequest.spaces
}

func (s *Server) newResponse(q *responsesRequest) *response {
	r := &response{ID: newID("resp_"), Object: "response", Created: time.Now().Unix(), Status: "in_progress", Model: s.cfg.Model, Output: []any{},
		Parallel: q.ParallelCalls == nil || *q.ParallelCalls, ToolChoice: "auto", Tools: q.Tools, Store: !isFalse(q.Store), Previous: q.Previous}
	if r.Previous == nil {
		r.Previous = raw("null")
	}
	r.spaces = q.spaces
	r.keep = func(r *response) { s.keepResponse(q, r) }
	if !isNull(q.ToolChoice) {
		r.ToolChoice = q.ToolChoice
	}
	if r.Tools == nil {
		r.Tools = []raw{}
	}
	return r
}

// keepResponse remembers a response that has ended: each of its items, and the whole conversation up to its
// end.
func (s *Server) keepResponse(q *responsesRequest, r *response) {
	if !r.Store {
		return
	}
	all := slices.Clone(q.whole)
	for _, item := range r.Output {
		text, err := json.Marshal(item)
		if err != nil {
			continue // impossible: items are maps of texts
		}
		all = append(all, text)
		if fields, ok := item.(map[string]any); ok {
			if id, ok := fields["id"].(string); ok {
				s.items.keep(q.scope, id, []raw{text})
			}
		}
	}
	s.items.keep(q.scope, r.ID, all)
}

// end completes a response.
func (r *response) end(e *ending, u account) {
	r.Status = "completed"
	if e.finish() == "length" {
		r.Status, r.Incomplete = "incomplete", map[string]any{"reason": "max_output_tokens"}
	}
	r.Timings = e.timings()
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

// callItem is a call. A call of a namespace's function has the namespace and the name in separate fields, by
// which Codex finds the function.
func (r *response) callItem(id, status string, c call) map[string]any {
	item := map[string]any{"type": "function_call", "id": id, "status": status, "call_id": c.id, "name": c.name, "arguments": c.arguments}
	if space, ok := r.spaces[c.name]; ok {
		item["namespace"], item["name"] = space[0], space[1]
	}
	return item
}

// responses serves POST /v1/responses.
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
		out.Output = append(out.Output, out.callItem(newID("fc_"), "completed", c))
	}
	out.keep(out)
	writeJSON(w, http.StatusOK, out)
	return nil
}
