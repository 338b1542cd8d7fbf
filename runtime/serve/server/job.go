package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"time"

	"mla/runtime/engine"
	"mla/runtime/serve/completion"
	"mla/runtime/serve/scheduler"
	"mla/runtime/text/chat/output"
	"mla/runtime/text/guided"
	"mla/runtime/text/sample"
)

// job is what an endpoint wants generated.
type job struct {
	// Request holds what the requests of all choices have in common. Each choice adds its prompt, its seed
	// and the functions that receive its tokens.
	completion.Request
	prompts [][]int32 // each gets n choices
	n       int
	ids     bool // every token is an event, even if it completes no character
	stops   []string
	stopIDs []int32 // further tokens that end the answers
	// ignoreEOS forbids tokens that end a text, except stopIDs.
	ignoreEOS bool
	parser    func() *output.Parser // parser of a chat answer; nil: everything is text
	opening   string                // the beginning of the answer that is part of the prompt
	oneCall   bool                  // the answer ends after its first call
	budget    int                   // most tokens of thoughts; negative: no limit
	rules     guided.Rules
	progress  bool          // send events about the prompt
	perToken  bool          // every event has timings
	lines     func() *lines // returns what ends the answer at a line; nil: nothing does
	unthink   []int32       // tokens that end thoughts
	names     callNames     // of calls
	past      string        // identifies the conversation that is answered, see conversation.past
	echo      bool          // report the probabilities of the prompt's tokens
}

// asked returns a request for as many tokens as fit, without log-probabilities. stop reports tokens that end
// the text.
func asked(stop func(id int32) bool) completion.Request {
	return completion.Request{Continuation: scheduler.Continuation{Max: -1, Stop: stop}, Logprobs: -1}
}

// event is an output of a choice, or its end.
type event struct {
	choice int
	output.Event
	call   int                // number of the choice's call, from 0
	id     string             // of the call
	tokens []completion.Token // since the last event, if their log-probabilities or ids are wanted
	prompt []completion.Token // of the prompt, if their log-probabilities are wanted
	end    *ending

	count    int             // tokens of the answer so far
	progress *promptProgress // of the prompt; nil: the event belongs to the answer
	timings  *timings        // so far, if wanted
}

// ending is the result of a choice.
type ending struct {
	result    engine.Result
	err       error
	matched   string // the stop sequence that ended it
	calls     int
	torn      bool // a streamed call broke off and cannot be taken back
	reasoning int  // tokens of thoughts
	prompt    int  // tokens of the prompt
	lines     bool // the answer was ended at a line
}

// finish is the reason for the end, in OpenAI's terms.
func (e *ending) finish() string {
	switch {
	case e.calls > 0:
		return "tool_calls"
	case e.torn, e.lines, e.result.Reason == engine.ReasonLength, e.result.Reason == engine.ReasonContext:
		return "length"
	}
	return "stop"
}

// start begins a job, which ends when ctx is done or the stream is closed.
func (s *Server) start(r *http.Request, j *job) (*stream, error) {
	if err := s.endings(j); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(r.Context())
	st := &stream{cancel: cancel, n: j.n, more: make(chan struct{}, 1)}
	var requests []completion.Request
	for _, prompt := range j.prompts {
		for range j.n {
			requests = append(requests, s.choice(ctx, st, j, prompt, len(requests)))
		}
	}
	st.left = len(requests)
	if s.cfg.Prompts != nil {
		for _, p := range j.prompts {
			s.cfg.Prompts.InfoContext(ctx, "prompt", "id", r.Header.Get(idHeader), "text", s.tok.Decode(p))
		}
	}
	if err := s.cfg.Service.Start(ctx, requests...); err != nil {
		cancel()
		return nil, err
	}
	return st, nil
}

// choice is one answer in progress. All of its code except next runs on the service's goroutine.
type choice struct {
	*stream
	metrics   *metrics
	memory    *memory
	number    int
	parser    *output.Parser
	stops     *sample.Stopper
	oneCall   bool
	least     int                // tokens before stop sequences are looked for
	ids       bool               // job.ids
	pending   []completion.Token // tokens for the next event
	begun     int                // number of calls begun
	calls     int                // number of complete calls
	current   call
	held      bool // the current call is held back until its end
	said      bool // the beginning of the current call was sent
	names     callNames
	key       func(id string) string // key of a call in the memory
	torn      bool                   // a call that was sent broke off
	args      strings.Builder        // of the current call
	closed    bool                   // nothing more is sent
	last      time.Time              // time of the last token
	reasoning strings.Builder
	thought   int            // tokens of thoughts
	unsaid    []int32        // forced tokens that are yet to come, which end the thoughts
	guided    *guided.Answer // nil: no grammar
	progress  bool           // job.progress
	perToken  bool
	pace      pace
	lines     *lines // nil: lines end nothing
}

// choice returns the request for one answer.
func (s *Server) choice(ctx context.Context, st *stream, j *job, prompt []int32, number int) completion.Request {
	c := &choice{stream: st, metrics: s.metrics, memory: s.calls, number: number, stops: sample.NewStopper(j.stops), oneCall: j.oneCall, ids: j.ids, least: j.Params.MinTokens}
	if j.parser != nil {
		c.parser = j.parser()
	}
	if j.lines != nil {
		c.lines = j.lines()
	}
	c.progress, c.perToken, c.pace.prompt.Total = j.progress, j.perToken, len(prompt)
	c.names, c.guided = j.names.copy(), guided.NewAnswer(s.tok, c.parser, j.rules)
	c.key = func(id string) string { return s.rememberedID(id, func() string { return j.past }) }
	if j.opening != "" {
		c.pass(c.parser.Push(j.opening))
		c.guided.Begun()
	}
	request := j.Request
	if c.guided != nil {
		request.Guide = c.guided.Guide
	}
	if j.parser != nil && j.budget >= 0 && len(j.unthink) > 0 {
		c.unsaid = j.unthink
		request.Force = func() int32 { return c.force(j.budget) }
	}
	request.Prompt, request.Scope, request.Prompted = prompt, s.scope, c.prompted
	request.Params.Seed += uint64(number)
	request.Done = func(res engine.Result, err error) {
		c.finish(res.Reason == engine.ReasonStop)
		end := &ending{result: res, err: cmp.Or(c.blame(j, err), c.guided.Err()), matched: c.stops.Matched(), calls: c.calls, torn: c.torn, reasoning: c.thought, prompt: len(prompt), lines: c.lines != nil && c.lines.ended}
		s.metrics.ended(end)
		s.trace(ctx, number, end)
		st.push(event{choice: number, end: end, tokens: c.pending})
	}
	request.Emit = func(t completion.Token) bool {
		c.time(t.ID)
		if t.Logprob != nil || c.ids && t.ID >= 0 {
			c.pending = append(c.pending, t)
		}
		more := c.token(t)
		if c.ids && len(c.pending) > 0 {
			c.event(output.Event{Kind: output.Content})
		}
		return more
	}
	if j.echo {
		request = c.echoed(request)
	}
	return request
}

// time measures the time between tokens.
func (c *choice) time(id int32) {
	now := time.Now()
	if id >= 0 {
		c.pace.tokens++
	}
	if c.last.IsZero() {
		c.pace.first = now
	} else {
		c.metrics.between.Observe(now.Sub(c.last).Seconds())
	}
	c.last = now
}

// force ends thoughts that have used up their budget.
func (c *choice) force(budget int) int32 {
	if !c.parser.Thinking() || c.thought < budget || len(c.unsaid) == 0 {
		return -1
	}
	c.parser.EndThoughts()
	id := c.unsaid[0]
	c.unsaid = c.unsaid[1:]
	return id
}

// token parses the text of a token; false ends the answer.
func (c *choice) token(t completion.Token) bool {
	thought := c.parser != nil && c.parser.Thinking()
	if thought {
		c.thought++
	}
	var events []output.Event
	switch {
	case t.Text == "":
	case c.parser == nil:
		events = []output.Event{{Kind: output.Content, Text: t.Text}}
	default:
		events = c.parser.Push(t.Text)
	}
	more := c.guided.Token(t.ID, thought, events)
	return c.pass(events) && more && (c.parser == nil || !c.parser.Over())
}

// pass sends events, up to a stop sequence in the text of the answer.
func (c *choice) pass(events []output.Event) bool {
	for _, e := range events {
		if c.closed {
			return false
		}
		if e.Kind == output.Content {
			if c.pace.tokens > c.least {
				e.Text, c.closed = c.stops.Push(e.Text)
			}
			e.Text = c.line(e.Text)
		} else {
			c.put(output.Event{Kind: output.Content, Text: c.stops.Flush()})
		}
		c.put(e)
	}
	return !c.closed
}

// put sends an event.
func (c *choice) put(e output.Event) {
	switch e.Kind {
	case output.CallBegin:
		c.beginCall(e)
	case output.Arguments:
		c.argue(e)
	case output.CallEnd:
		c.endCall(e)
	default:
		if e.Kind == output.Reasoning {
			c.reasoning.WriteString(e.Text)
		}
		if e.Text != "" {
			c.event(e)
		}
	}
}

// event adds an event, with the tokens since the last one.
func (c *choice) event(e output.Event) {
	out := event{choice: c.number, Event: e, call: c.begun, id: c.current.id, tokens: c.pending, count: c.pace.tokens}
	if c.perToken {
		out.timings = c.pace.timings()
	}
	c.push(out)
	c.pending = nil
}

// finish sends what was held back; whole says that the model has ended its answer.
func (c *choice) finish(whole bool) {
	switch {
	case c.closed:
		return
	case c.parser != nil && whole:
		c.pass(c.parser.Close())
	case c.parser != nil:
		c.pass(c.parser.Cut())
	}
	if !c.closed {
		c.put(output.Event{Kind: output.Content, Text: c.line(c.stops.Flush())})
	}
}

// line returns the part of a text that the lines allow.
func (c *choice) line(text string) string {
	if c.lines == nil || text == "" {
		return text
	}
	text, more := c.lines.push(text)
	c.closed = c.closed || !more
	return text
}

// blame makes an error the client's if the client's own biases left no possible token.
func (c *choice) blame(j *job, err error) error {
	var none *engine.NoTokenError
	if errors.As(err, &none) && banned(&j.Params) > 0 {
		return bad("logit_bias", "no token is left that may come after %d tokens: the others are at -100, or impossible here", none.Position+1)
	}
	return err
}

// answer is everything that a choice has written.
type answer struct {
	reasoning, content string
	calls              []call
	tokens             []completion.Token // if their log-probabilities or ids are wanted
	prompt             []completion.Token // if its log-probabilities are wanted
	*ending
}

// collect waits for the ends of all choices, and logs what they have used. Calls whose arguments are not an
// object become text.
func (s *Server) collect(r *http.Request, st *stream, choices int) ([]answer, error) {
	defer st.settle(r)
	answers := make([]answer, choices)
	for !st.done() {
		events, err := st.next(r.Context(), s.cfg.Limits.Request)
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			a := &answers[e.choice]
			a.tokens = append(a.tokens, e.tokens...)
			a.prompt = append(a.prompt, e.prompt...)
			if e.end != nil {
				if a.ending = e.end; e.end.err != nil {
					return nil, e.end.err
				}
				a.torn = false // here the broken call becomes text
				continue
			}
			a.add(e)
		}
	}
	return answers, nil
}

// add adds an event.
func (a *answer) add(e event) {
	last := len(a.calls) - 1
	switch e.Kind {
	case output.Content:
		a.content += e.Text
	case output.Reasoning:
		a.reasoning += e.Text
	case output.CallBegin:
		a.calls = append(a.calls, call{id: e.id, name: e.Text})
	case output.Arguments:
		a.calls[last].arguments += e.Text
	case output.CallEnd:
		if !e.Valid {
			a.calls = a.calls[:last]
			a.add(event{Event: output.Event{Kind: e.Else, Text: e.Text}})
		}
	}
}

// newID returns a unique name.
func newID(prefix string) string { return prefix + rand.Text() }
