package server

import (
	"context"
	"net/http"

	"mla/runtime/text/chat"
	"mla/runtime/text/chat/output"
)

// messagesRequest is the body of POST /v1/messages.
type messagesRequest struct {
	sampling
	structured
	MaxTokens     *int              `json:"max_tokens"`
	Messages      []anthropicTurn   `json:"messages"`
	System        blocks            `json:"system"`
	StopSequences texts             `json:"stop_sequences"`
	Stream        bool              `json:"stream"`
	Tools         []anthropicTool   `json:"tools"`
	ToolChoice    anthropicChoice   `json:"tool_choice"`
	Thinking      anthropicThinking `json:"thinking"`
	ContinueFinal *bool             `json:"continue_final_message"` // vLLM's name
	Output        struct {
		Format *responseFormat `json:"format"`
		Effort string          `json:"effort"`
	} `json:"output_config"`
	OutputFormat *responseFormat `json:"output_format"` // the older name of output_config.format
	Management   struct {
		Edits []struct {
			Type string `json:"type"`
			Keep raw    `json:"keep"`
		} `json:"edits"`
	} `json:"context_management"`
}

// job converts the request to a job.
func (q *messagesRequest) job(ctx context.Context, s *Server) (*job, error) {
	c, err := q.conversation(s)
	if err != nil {
		return nil, err
	}
	if q.Output.Format == nil {
		q.Output.Format = q.OutputFormat
	}
	if f := q.Output.Format; f != nil {
		f.Strict = new(bool)
		*f.Strict = true // the API has only strict formats
	}
	if c.grammar, err = s.grammarOf(q.structured, q.Output.Format, "output_config.format"); err != nil {
		return nil, err
	}
	j, err := s.chatJob(ctx, c)
	if err != nil {
		return nil, err
	}
	if q.MaxTokens == nil || *q.MaxTokens < 1 {
		return nil, bad("max_tokens", "is missing; expected 1 or more")
	}
	j.Max = *q.MaxTokens
	if err = q.put(s, j); err != nil {
		return nil, err
	}
	j.stops = q.StopSequences
	return j, q.StopSequences.check("stop_sequences")
}

// anthropicMessage is a response, or its beginning in a stream.
type anthropicMessage struct {
	ID           string         `json:"id"`
	Type         string         `json:"type"`
	Role         string         `json:"role"`
	Model        string         `json:"model"`
	Content      []any          `json:"content"`
	StopReason   *string        `json:"stop_reason"`
	StopSequence *string        `json:"stop_sequence"`
	Usage        anthropicUsage `json:"usage"`
}

// anthropicUsage counts tokens of the prompt that were found in the caches separately.
type anthropicUsage struct {
	Input  int `json:"input_tokens"`
	Output int `json:"output_tokens"`
	Cached int `json:"cache_read_input_tokens"`
	Create int `json:"cache_creation_input_tokens"`
}

func (u *account) anthropic() anthropicUsage {
	return anthropicUsage{Input: u.prompt - u.cached, Output: u.generated, Cached: u.cached}
}

// stopReason is the reason for the end in Anthropic's terms, and the stop sequence.
func (e *ending) stopReason() (reason, sequence *string) {
	word := map[string]string{"tool_calls": "tool_use", "length": "max_tokens", "stop": "end_turn"}[e.finish()]
	if e.matched != "" {
		word = "stop_sequence"
		sequence = &e.matched
	}
	return &word, sequence
}

func (s *Server) newMessage() anthropicMessage {
	return anthropicMessage{ID: newID("msg_"), Type: "message", Role: chat.Assistant, Model: s.cfg.Model, Content: []any{}}
}

// messages serves POST /v1/messages.
func (s *Server) messages(w http.ResponseWriter, r *http.Request) error {
	var q messagesRequest
	j, st, err := s.startRequest(w, r, &q)
	if err != nil {
		return err
	}
	m := s.newMessage()
	if q.Stream {
		out := s.newSSE(w)
		m.Usage.Input = len(j.prompts[0])
		out.event("message_start", map[string]any{"type": "message_start", "message": m})
		return s.pump(r, st, out, &messageWriter{out: out, thinking: q.Thinking})
	}
	answers, err := s.collect(r, st, 1)
	if err != nil {
		return err
	}
	a := answers[0]
	if shown := q.Thinking.show(a.reasoning); shown != nil {
		m.Content = append(m.Content, map[string]any{"type": "thinking", "thinking": *shown, "signature": ""})
	}
	if a.content != "" || len(m.Content)+len(a.calls) == 0 { // an empty text is a block only if there is no other block
		m.Content = append(m.Content, map[string]any{"type": "text", "text": a.content})
	}
	for _, c := range a.calls {
		m.Content = append(m.Content, map[string]any{"type": "tool_use", "id": c.id, "name": c.name, "input": raw(c.arguments)})
	}
	m.StopReason, m.StopSequence = a.stopReason()
	m.Usage = st.used.anthropic()
	writeJSON(w, http.StatusOK, m)
	return nil
}

// messageWriter writes a stream of content blocks.
type messageWriter struct {
	out   *sse
	index int
	open  output.Kind // kind of the current block, if one is open
	is    bool
	used  account
	last  *ending
	// thinking says whether the client wants thoughts, and in which form.
	thinking anthropicThinking
}

// begin begins a block, unless one of the same kind is open.
func (w *messageWriter) begin(kind output.Kind, block map[string]any) {
	if w.is && w.open == kind && kind != output.CallBegin {
		return
	}
	w.stop()
	w.is, w.open = true, kind
	w.out.event("content_block_start", map[string]any{"type": "content_block_start", "index": w.index, "content_block": block})
}

// stop ends the open block.
func (w *messageWriter) stop() {
	if w.is {
		w.out.event("content_block_stop", map[string]any{"type": "content_block_stop", "index": w.index})
		w.index++
		w.is = false
	}
}

func (w *messageWriter) delta(delta map[string]any) {
	w.out.event("content_block_delta", map[string]any{"type": "content_block_delta", "index": w.index, "delta": delta})
}

func (w *messageWriter) event(e event) {
	if e.end != nil {
		w.used.add(e.end, true)
		w.last = e.end
		return
	}
	switch e.Kind {
	case output.Reasoning:
		shown := w.thinking.show(e.Text)
		if shown == nil {
			return
		}
		w.begin(e.Kind, map[string]any{"type": "thinking", "thinking": "", "signature": ""})
		if *shown != "" {
			w.delta(map[string]any{"type": "thinking_delta", "thinking": *shown})
		}
	case output.Content:
		w.begin(e.Kind, map[string]any{"type": "text", "text": ""})
		w.delta(map[string]any{"type": "text_delta", "text": e.Text})
	case output.CallBegin:
		w.begin(e.Kind, map[string]any{"type": "tool_use", "id": e.id, "name": e.Text, "input": map[string]any{}})
	case output.Arguments:
		w.delta(map[string]any{"type": "input_json_delta", "partial_json": e.Text})
	case output.CallEnd:
		w.stop()
	}
}

func (w *messageWriter) ping() { w.out.event("ping", map[string]any{"type": "ping"}) }

func (w *messageWriter) end() {
	w.stop()
	reason, sequence := w.last.stopReason()
	w.out.event("message_delta", map[string]any{"type": "message_delta", "usage": w.used.anthropic(), "delta": map[string]any{"stop_reason": reason, "stop_sequence": sequence}})
	w.out.event("message_stop", map[string]any{"type": "message_stop"})
}

func (w *messageWriter) fail(e *apiError) { w.out.event("error", e.body("/v1/messages")) }

// countTokens serves POST /v1/messages/count_tokens.
func (s *Server) countTokens(w http.ResponseWriter, r *http.Request) error {
	var q messagesRequest
	return s.countRequest(w, r, &q, func(n int) any { return map[string]any{"input_tokens": n} })
}
