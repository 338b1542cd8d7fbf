package server

import (
	"time"

	"mla/runtime/engine"
	"mla/runtime/serve/completion"
	"mla/runtime/text/chat/output"
)

// echo determines the probabilities of a prompt's tokens, each given those before it. The model begins with
// the first token, and the others are forced as if it had picked them. This takes as long as generating that
// many tokens.
type echo struct {
	rest   []int32            // tokens of the prompt that were not forced yet
	tokens []completion.Token // tokens of the prompt with their probabilities; that of the first is unknown
	total  int                // tokens of the prompt
	began  time.Time
	took   time.Duration
}

func newEcho(prompt []int32) *echo {
	return &echo{rest: prompt[1:], tokens: []completion.Token{{ID: prompt[0]}}, total: len(prompt), began: time.Now()}
}

// next is the token to force; negative: the answer has begun.
func (e *echo) next() int32 {
	if len(e.rest) == 0 {
		return -1
	}
	id := e.rest[0]
	e.rest = e.rest[1:]
	return id
}

// over says whether all tokens of the prompt have come.
func (e *echo) over() bool { return len(e.tokens) == e.total }

// settle counts the tokens of the prompt as such, not as tokens of the answer.
func (e *echo) settle(r engine.Result) engine.Result {
	forced := min(e.total-1, len(r.Tokens))
	r.Tokens = r.Tokens[forced:]
	r.Prompt.Tokens += forced
	r.Prompt.Elapsed += min(e.took, r.Decode.Elapsed)
	r.Decode.Tokens = max(0, r.Decode.Tokens-forced)
	r.Decode.Elapsed -= min(e.took, r.Decode.Elapsed)
	return r
}

// echoed makes a request report the probabilities of its prompt's tokens.
func (c *choice) echoed(r completion.Request) completion.Request {
	e := newEcho(r.Prompt)
	tell := func() {
		e.took = time.Since(e.began)
		c.push(event{choice: c.number, Event: output.Event{Kind: output.Content}, prompt: e.tokens})
	}
	if e.over() {
		tell()
	}
	if r.Prompt = r.Prompt[:1]; r.Max >= 0 {
		r.Max += e.total - 1
	}
	r.Force = e.next
	stop, emit, done := r.Stop, r.Emit, r.Done
	r.Stop = func(id int32) bool { return e.over() && stop != nil && stop(id) }
	r.Emit = func(t completion.Token) bool {
		if e.over() {
			return emit(t)
		}
		if e.tokens = append(e.tokens, t); e.over() {
			tell()
		}
		return true
	}
	r.Done = func(res engine.Result, err error) { done(e.settle(res), err) }
	return r
}
