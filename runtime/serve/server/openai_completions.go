package server

import (
	"context"
	"net/http"
	"slices"
	"time"

	"mla/runtime/engine"
	"mla/runtime/serve/completion"
)

// textRequest is the body of POST /v1/completions.
type textRequest struct {
	sampling
	structured
	Prompt        prompts         `json:"prompt"`
	Suffix        string          `json:"suffix"`
	MaxTokens     *int            `json:"max_tokens"`
	N             *int            `json:"n"`
	BestOf        *int            `json:"best_of"`
	Echo          bool            `json:"echo"`
	Stop          texts           `json:"stop"`
	Stream        bool            `json:"stream"`
	StreamOptions streamOptions   `json:"stream_options"`
	Logprobs      *int            `json:"logprobs"`
	Format        *responseFormat `json:"response_format"`
	TokenIDs      bool            `json:"return_token_ids"` // vLLM's name
	progressFields
}

// job converts the request to a job.
func (q *textRequest) job(ctx context.Context, s *Server) (j *job, err error) {
	j = &job{Request: asked(s.tok.IsEOG), ids: q.TokenIDs, stops: q.Stop, progress: q.Progress, perToken: q.PerToken}
	if j.n, err = choices(q.N); err != nil {
		return nil, err
	}
	if q.Suffix != "" {
		j.prompts, err = s.fillIn(q)
	} else {
		j.prompts, err = q.Prompt.encode(s, j.n)
	}
	switch {
	case err != nil:
		return nil, err
	case q.BestOf != nil && *q.BestOf != j.n:
		return nil, bad("best_of", "is not supported")
	case q.Logprobs != nil && (*q.Logprobs < 0 || *q.Logprobs > maxTop):
		return nil, bad("logprobs", "%d; expected 0 to %d", *q.Logprobs, maxTop)
	}
	if q.Logprobs != nil {
		j.Logprobs = *q.Logprobs
		j.echo = q.Echo
	}
	if err := s.fits(j); err != nil {
		return nil, err
	}
	if q.Suffix != "" {
		j.Stop = s.fimEnd(s.tok.FIM())
	}
	if err = q.put(s, j); err != nil {
		return nil, err
	}
	if j.Max, err = most("max_tokens", q.MaxTokens); err != nil {
		return nil, err
	}
	if q.MaxTokens == nil {
		j.Max = defaultMax
	}
	wanted, err := s.grammarOf(q.structured, q.Format, "response_format")
	if err != nil {
		return nil, err
	}
	if j.rules, err = s.textRules(ctx, wanted); err != nil {
		return nil, err
	}
	return j, q.Stop.check("stop")
}

// known says whether all tokens are in the vocabulary.
func (s *Server) known(prompts [][]int32) bool {
	return !slices.ContainsFunc(prompts, func(tokens []int32) bool {
		return slices.ContainsFunc(tokens, func(id int32) bool { return id < 0 || int(id) >= s.tok.VocabSize() })
	})
}

// defaultMax is the API's default of max_tokens for completions.
const defaultMax = 16

// textAnswer is an answer, or a piece of one in a stream.
type textAnswer struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []textChoice `json:"choices"`
	Usage   *usage       `json:"usage,omitempty"`
	Timings *timings     `json:"timings,omitempty"`
	System  string       `json:"system_fingerprint,omitempty"`

	Progress *promptProgress `json:"prompt_progress,omitempty"`
}

type textChoice struct {
	Text     string        `json:"text"`
	Index    int           `json:"index"`
	Finish   *string       `json:"finish_reason"`
	Logprobs *textLogprobs `json:"logprobs"`
	Tokens   []int32       `json:"token_ids,omitempty"`        // of Text, or of a character that is not complete yet
	Prompt   []int32       `json:"prompt_token_ids,omitempty"` // of a stream, in the first piece
}

// ids lists the ids of tokens.
func ids(tokens []completion.Token) (list []int32) {
	for _, t := range tokens {
		list = append(list, t.ID)
	}
	return list
}

// fits fails if a prompt that is run token by token (echo) does not fit the context. For other prompts the
// service checks this.
func (s *Server) fits(j *job) error {
	for _, prompt := range j.prompts {
		if j.echo && len(prompt) > s.cfg.Context {
			return &engine.ContextError{Tokens: len(prompt), Context: s.cfg.Context}
		}
	}
	return nil
}

// textLogprobs is lists with an element per token. The element of a prompt's first token is null.
type textLogprobs struct {
	Tokens  []string             `json:"tokens"`
	Log     []*float64           `json:"token_logprobs"`
	Top     []map[string]float64 `json:"top_logprobs"`
	Offsets []int                `json:"text_offset"`
}

// textLogprobs converts tokens whose text begins at an offset.
func (s *Server) textLogprobs(tokens []completion.Token, offset *int) *textLogprobs {
	out := &textLogprobs{Tokens: []string{}, Log: []*float64{}, Top: []map[string]float64{}, Offsets: []int{}}
	for _, t := range tokens {
		var log *float64
		var top map[string]float64
		if t.Logprob != nil {
			log, top = &t.Logprob.Log, map[string]float64{}
			for _, l := range t.Logprob.Top {
				top[string(s.tokenBytes(l.ID))] = l.Log
			}
		}
		out.Tokens, out.Log, out.Top, out.Offsets = append(out.Tokens, string(s.tokenBytes(t.ID))), append(out.Log, log), append(out.Top, top), append(out.Offsets, *offset)
		*offset += len(s.tok.TokenBytes(t.ID)) // a control token is not part of the text
	}
	return out
}

// completions serves POST /v1/completions.
func (s *Server) completions(w http.ResponseWriter, r *http.Request) error {
	var q textRequest
	j, st, err := s.startRequest(w, r, &q)
	if err != nil {
		return err
	}
	head := textAnswer{ID: newID("cmpl-"), Object: "text_completion", Created: time.Now().Unix(), Model: s.cfg.Model, System: s.cfg.Version}
	total := len(j.prompts) * j.n
	echo := make([]string, total)
	if q.Echo {
		for i := range echo {
			echo[i] = s.tok.Decode(j.prompts[i/j.n])
		}
	}
	prompts := make([][]int32, total)
	if q.TokenIDs {
		for i := range prompts {
			prompts[i] = j.prompts[i/j.n]
		}
	}
	if q.Stream {
		out := s.newSSE(w)
		return s.pump(r, st, out, &textWriter{s: s, out: out, head: head, q: &q, n: j.n, echo: echo, prompts: prompts, offsets: make([]int, total)})
	}
	answers, err := s.collect(r, st, total)
	if err != nil {
		return err
	}
	for i, a := range answers {
		finish := a.finish()
		c := textChoice{Text: echo[i] + a.content, Index: i, Finish: &finish, Prompt: prompts[i]}
		if q.Logprobs != nil {
			c.Logprobs = s.textLogprobs(slices.Concat(a.prompt, a.tokens), new(int))
		}
		if q.TokenIDs {
			c.Tokens = ids(a.tokens)
		}
		head.Choices = append(head.Choices, c)
	}
	head.Usage, head.Timings = st.used.openAI(), answers[0].timings()
	writeJSON(w, http.StatusOK, head)
	return nil
}

// textWriter writes a stream of pieces.
type textWriter struct {
	s       *Server
	out     *sse
	head    textAnswer
	q       *textRequest
	n       int
	echo    []string
	prompts [][]int32
	offsets []int
	used    account
	last    *ending
}

func (w *textWriter) event(e event) {
	c := textChoice{Text: w.echo[e.choice] + e.Text, Index: e.choice, Prompt: w.prompts[e.choice]}
	w.echo[e.choice], w.prompts[e.choice] = "", nil
	if e.end != nil {
		w.used.add(e.end, e.choice%w.n == 0)
		w.last = e.end
		finish := e.end.finish()
		c.Finish = &finish
	}
	if w.q.Logprobs != nil {
		c.Logprobs = w.s.textLogprobs(slices.Concat(e.prompt, e.tokens), &w.offsets[e.choice])
	}
	if w.q.TokenIDs {
		c.Tokens = ids(e.tokens)
	}
	a := w.head
	a.Choices, a.Progress, a.Timings = []textChoice{c}, e.progress, e.timings
	w.out.event("", a)
}

func (w *textWriter) ping() { w.out.text(": waiting") }

func (w *textWriter) end() {
	if w.q.StreamOptions.IncludeUsage {
		a := w.head
		a.Choices, a.Usage, a.Timings = []textChoice{}, w.used.openAI(), w.last.timings()
		w.out.event("", a)
	}
	w.out.text("data: [DONE]")
}

func (w *textWriter) fail(e *apiError) { w.out.event("", map[string]any{"error": e}) }
