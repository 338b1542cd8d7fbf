package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"mla/runtime/text/chat"
	"mla/runtime/text/chat/output"
)

// chatRequest is the body of POST /v1/chat/completions.
type chatRequest struct {
	sampling
	structured
	progressFields
	switches
	functionFields
	Messages       []chatMessage   `json:"messages"`
	Tools          []raw           `json:"tools"`
	ToolChoice     raw             `json:"tool_choice"`
	ParallelCalls  *bool           `json:"parallel_tool_calls"`
	MaxTokens      *int            `json:"max_tokens"`
	MaxCompletion  *int            `json:"max_completion_tokens"`
	NPredict       *int            `json:"n_predict"` // llama-server's name
	N              *int            `json:"n"`
	Stop           texts           `json:"stop"`
	Stream         bool            `json:"stream"`
	StreamOptions  streamOptions   `json:"stream_options"`
	Logprobs       bool            `json:"logprobs"`
	TopLogprobs    int             `json:"top_logprobs"`
	ResponseFormat *responseFormat `json:"response_format"`
	ContinueFinal  *bool           `json:"continue_final_message"` // vLLM's name
	AddPrompt      *bool           `json:"add_generation_prompt"`  // Hugging Face's name, and llama-server's
}

// chatMessage is a message of a chat.
type chatMessage struct {
	Role       string     `json:"role"`
	Content    parts      `json:"content"`
	Reasoning  *string    `json:"reasoning_content"`
	Thoughts   *string    `json:"reasoning"` // vLLM's name
	Name       string     `json:"name"`
	ToolCallID string     `json:"tool_call_id"`
	ToolCalls  []chatCall `json:"tool_calls"`

	FunctionCall *functionCall `json:"function_call"` // the form before tools existed
}

// chatCall is a call of a tool, or a part of one in a stream.
type chatCall struct {
	Index    *int   `json:"index,omitempty"` // in a stream only
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string       `json:"name,omitempty"`
		Arguments argumentText `json:"arguments"`
	} `json:"function"`
}

// conversation converts the request to a conversation.
func (q *chatRequest) conversation(s *Server) (*conversation, error) {
	if err := q.asTools(); err != nil {
		return nil, err
	}
	c := &conversation{oneCall: isFalse(q.ParallelCalls), reasoning: q.reasoning(), whole: isFalse(q.ContinueFinal), bare: isFalse(q.AddPrompt)}
	if q.AddPrompt != nil && *q.AddPrompt && q.ContinueFinal != nil && *q.ContinueFinal {
		return nil, bad("add_generation_prompt", "it begins a turn of the assistant, and continue_final_message goes on with one; expected one of them")
	}
	for i, m := range q.Messages {
		role, err := readRole(fmt.Sprintf("messages[%d].role", i), m.Role)
		if err != nil {
			return nil, err
		}
		out := chat.Message{Role: role, Name: m.Name, ToolCallID: m.ToolCallID}
		for _, thoughts := range []*string{m.Reasoning, m.Thoughts} {
			out.Reasoned = out.Reasoned || thoughts != nil
			if thoughts != nil && out.Reasoning == "" {
				out.Reasoning = *thoughts
			}
		}
		for _, t := range m.ToolCalls {
			call, err := replay(fmt.Sprintf("messages[%d].tool_calls", i), t.ID, t.Function.Name, string(t.Function.Arguments))
			if err != nil {
				return nil, err
			}
			out.ToolCalls = append(out.ToolCalls, call)
		}
		if err := m.calledFunction(s, c, fmt.Sprintf("messages[%d].function_call", i), &out); err != nil {
			return nil, err
		}
		c.add(out, m.Content)
	}
	return c, q.tools(c)
}

// tools reads the declared tools.
func (q *chatRequest) tools(c *conversation) (err error) {
	if len(q.Tools) > maxTools {
		return bad("tools", "more than %d", maxTools)
	}
	for i, text := range q.Tools {
		param := fmt.Sprintf("tools[%d]", i)
		var t struct {
			Type     string `json:"type"`
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		}
		if json.Unmarshal(text, &t) != nil || t.Type == "" {
			return bad(param, "expected a tool of type function")
		}
		if t.Type != "function" {
			c.skipped = append(c.skipped, clip(t.Type, 50))
			continue
		}
		if err := checkName(param+".function.name", t.Function.Name); err != nil {
			return err
		}
		c.tools = append(c.tools, text) // unchanged, with the order of its keys
	}
	c.choice, err = readChoice(q.ToolChoice, c.tools)
	return err
}

// job converts the request to a job.
func (q *chatRequest) job(ctx context.Context, s *Server) (*job, error) {
	c, err := q.conversation(s)
	if err != nil {
		return nil, err
	}
	if c.grammar, err = s.grammarOf(q.structured, q.ResponseFormat, "response_format"); err != nil {
		return nil, err
	}
	j, err := s.chatJob(ctx, c)
	if err != nil {
		return nil, err
	}
	j.progress, j.perToken = q.Progress, q.PerToken
	if err = q.put(s, j); err != nil {
		return nil, err
	}
	if j.Max, err = q.most(); err != nil {
		return nil, err
	}
	if j.n, err = choices(q.N); err != nil {
		return nil, err
	}
	if j.stops = q.Stop; q.Stop.check("stop") != nil {
		return nil, q.Stop.check("stop")
	}
	if q.TopLogprobs < 0 || q.TopLogprobs > maxTop || q.TopLogprobs > 0 && !q.Logprobs {
		return nil, bad("top_logprobs", "%d; expected 0 to %d, with logprobs", q.TopLogprobs, maxTop)
	}
	if q.Logprobs {
		j.Logprobs = q.TopLogprobs
	}
	return j, nil
}

// most is the most tokens of an answer, from the first of its names that is given.
func (q *chatRequest) most() (int, error) {
	for _, f := range []struct {
		name  string
		value *int
	}{{"max_completion_tokens", q.MaxCompletion}, {"max_tokens", q.MaxTokens}, {"n_predict", q.NPredict}} {
		if f.value != nil {
			return most(f.name, f.value)
		}
	}
	return most("", nil)
}

// chatAnswer is an answer, or a piece of one in a stream.
type chatAnswer struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []chatChoice `json:"choices"`
	Usage   *usage       `json:"usage,omitempty"`
	Timings *timings     `json:"timings,omitempty"`
	System  string       `json:"system_fingerprint,omitempty"`

	Progress *promptProgress `json:"prompt_progress,omitempty"`
}

type chatChoice struct {
	Index    int        `json:"index"`
	Message  *chatDelta `json:"message,omitempty"`
	Delta    *chatDelta `json:"delta,omitempty"`
	Finish   *string    `json:"finish_reason"`
	Logprobs *logprobs  `json:"logprobs"`
}

// chatDelta is a message, or an addition to one.
type chatDelta struct {
	Role      string     `json:"role,omitempty"`
	Content   *string    `json:"content,omitempty"`
	Refusal   raw        `json:"refusal,omitempty"`
	Reasoning string     `json:"reasoning_content,omitempty"`
	Calls     []chatCall `json:"tool_calls,omitempty"`

	Function *functionCall `json:"function_call,omitempty"` // the form before tools existed
}

// chatCompletions serves POST /v1/chat/completions.
func (s *Server) chatCompletions(w http.ResponseWriter, r *http.Request) error {
	var q chatRequest
	j, st, err := s.startRequest(w, r, &q)
	if err != nil {
		return err
	}
	head := chatAnswer{ID: newID("chatcmpl-"), Object: "chat.completion", Created: time.Now().Unix(), Model: s.cfg.Model, System: s.cfg.Version}
	if q.Stream {
		head.Object = "chat.completion.chunk"
		out := s.newSSE(w)
		return s.pump(r, st, out, &chatWriter{s: s, out: out, head: head, q: &q, begun: make([]bool, j.n)})
	}
	answers, err := s.collect(r, st, j.n)
	if err != nil {
		return err
	}
	for i, a := range answers {
		finish := q.finish(a.ending)
		m := &chatDelta{Role: chat.Assistant, Content: &a.content, Refusal: raw("null"), Reasoning: a.reasoning}
		for _, c := range a.calls {
			q.called(m, newChatCall(nil, c))
		}
		head.Choices = append(head.Choices, chatChoice{Index: i, Message: m, Finish: &finish, Logprobs: s.logprobs(a.tokens, q.Logprobs)})
	}
	head.Usage, head.Timings = st.used.openAI(), answers[0].timings()
	writeJSON(w, http.StatusOK, head)
	return nil
}

func newChatCall(index *int, c call) chatCall {
	out := chatCall{Index: index, ID: c.id}
	if c.id != "" {
		out.Type = "function"
	}
	out.Function.Name, out.Function.Arguments = c.name, argumentText(c.arguments)
	return out
}

// chatWriter writes a stream of pieces.
type chatWriter struct {
	s     *Server
	out   *sse
	head  chatAnswer
	q     *chatRequest
	begun []bool // by choice
	used  account
	last  *ending
}

func (w *chatWriter) event(e event) {
	if !w.begun[e.choice] {
		w.begun[e.choice] = true
		empty := ""
		w.piece(event{choice: e.choice}, &chatDelta{Role: chat.Assistant, Content: &empty}, nil)
	}
	if e.end != nil {
		w.used.add(e.end, e.choice == 0)
		w.last = e.end
		finish := w.q.finish(e.end)
		w.piece(e, &chatDelta{}, &finish)
		return
	}
	d := &chatDelta{}
	switch e.Kind {
	case output.Content:
		d.Content = &e.Text
	case output.Reasoning:
		d.Reasoning = e.Text
	case output.CallBegin:
		w.q.called(d, newChatCall(&e.call, call{id: e.id, name: e.Text}))
	case output.Arguments:
		w.q.called(d, newChatCall(&e.call, call{arguments: e.Text}))
	default:
		if len(e.tokens) == 0 {
			return
		}
	}
	if e.progress != nil { // the answer has not begun
		d.Content = nil
	}
	w.piece(e, d, nil)
}

// piece writes an addition to a choice.
func (w *chatWriter) piece(e event, d *chatDelta, finish *string) {
	a := w.head
	choice := chatChoice{Index: e.choice, Delta: d, Finish: finish}
	if d.Role == "" && len(e.tokens) > 0 {
		choice.Logprobs = w.s.logprobs(e.tokens, w.q.Logprobs)
	}
	a.Choices, a.Progress, a.Timings = []chatChoice{choice}, e.progress, e.timings
	w.out.event("", a)
}

func (w *chatWriter) ping() { w.out.text(": waiting") }

func (w *chatWriter) end() {
	if w.q.StreamOptions.IncludeUsage {
		a := w.head
		a.Choices, a.Usage, a.Timings = []chatChoice{}, w.used.openAI(), w.last.timings()
		w.out.event("", a)
	}
	w.out.text("data: [DONE]")
}

func (w *chatWriter) fail(e *apiError) { w.out.event("", map[string]any{"error": e}) }

// isNull says whether a field is missing or null.
func isNull(text raw) bool { return len(text) == 0 || bytes.Equal(text, []byte("null")) }
