package scheduler

import (
	"context"
	"time"

	"mla/runtime/engine"
	"mla/runtime/engine/payoff"
)

// task is a request in progress. Its text is the prompt and the picked tokens. A beginning of the text is on
// the session's timeline; the rest has to be run. For a task that has released its pages, the whole text has
// to be run.
type task struct {
	Request
	ctx       context.Context
	number    int // tasks are numbered in the order in which they joined
	text      []int32
	session   *engine.Session // nil: the task waits for a session
	drafter   engine.Drafter  // of the session; nil: no drafts
	share     payoff.Share    // of the time that drafts save
	waits     bool            // for pages
	unguessed int             // tokens of the last run ahead after the drafter had no drafts; 0: a draft was accepted since
	result    engine.Result

	submitted time.Time
	began     time.Time // start of the prompt, then of decoding
}

// done is the number of tokens of the text that have been run.
func (t *task) done() int { return len(t.session.Tokens()) }

// left is the number of tokens that have not been run.
func (t *task) left() int { return len(t.text) - t.done() }

// started says whether the whole prompt has ever been run.
func (t *task) started() bool { return len(t.text) > len(t.Prompt) }

// decoding says whether the next row is that of the last picked token.
func (t *task) decoding() bool { return t.started() && t.left() == 1 }

// ready says whether a task has a row for the next round; for the row there may be no page.
func (t *task) ready() bool { return t.decoding() && !t.waits }

// portable says whether a device can pick for the sampler, and the sampler depends only on accepted tokens.
func (t *task) portable() bool {
	_, portable := t.Sampler.(engine.Portable)
	_, watches := t.Sampler.(engine.Watching)
	return portable && !watches
}

// row is the task's next row, after other rows of it in the same step.
func (t *task) row(after int) engine.Row {
	at := t.done() + after
	r := engine.Row{Session: t.session, Token: t.text[at]}
	last := at == len(t.text)-1
	switch {
	case !t.started():
		t.result.Prompt.Tokens++
	case last: // earlier tokens have been run before
		t.result.Decode.Tokens++
	}
	if last && t.Max != 0 {
		t.begin()
		r.Sampler = t.Sampler
	}
	return r
}

// begin passes the prompt to the sampler, before it picks the first token.
func (t *task) begin() {
	if !t.started() {
		for _, token := range t.Prompt {
			t.Sampler.Accept(token)
		}
	}
}

// reuse takes over rows of the next tokens from the model's pages.
func (t *task) reuse() error {
	found, err := t.session.Reuse(t.text[t.done():])
	if !t.started() {
		t.result.Reused += found
	}
	return err
}

// take appends picked tokens to the text, or ends the request. All of them but the last are on the timeline
// already, and the sampler has accepted them.
func (s *Scheduler) take(t *task, tokens []int32) {
	if t.Max == 0 { // nothing was picked
		tokens = []int32{0}
	}
	for i, token := range tokens {
		after := len(tokens) - 1 - i
		if s.takeOne(t, token, after); t.session == nil || after > 0 && t.ctx.Err() != nil {
			return // the request has ended, or ends before the next step
		}
		if after > 0 {
			t.unguessed = 0
			t.result.Accepted++
			t.result.Decode.Tokens++
		}
	}
}

// takeOne takes one token; after is the number of tokens after it on the timeline.
func (s *Scheduler) takeOne(t *task, token int32, after int) {
	if !t.started() {
		now := time.Now()
		t.result.Prompt.Elapsed, t.began = now.Sub(t.began), now
	}
	switch {
	case t.Max == 0:
		s.end(t, engine.ReasonLength, nil)
	case token < 0:
		s.end(t, engine.ReasonError, &engine.NoTokenError{Position: t.done() - 1 - after})
	case t.Stop != nil && t.Stop(token):
		s.end(t, engine.ReasonStop, nil)
	default:
		if after == 0 {
			t.Sampler.Accept(token)
		}
		t.result.Tokens = append(t.result.Tokens, token)
		if len(t.result.Tokens) == 1 {
			t.result.FirstToken = time.Since(t.submitted)
		}
		t.text = append(t.text, token)
		if reason := t.ends(token, after); reason != "" {
			s.end(t, reason, nil)
		}
	}
}

// ends is the reason for which the request ends with a token that is followed by others on the timeline; "":
// it continues.
func (t *task) ends(token int32, after int) engine.Reason {
	switch {
	case t.Emit != nil && !t.Emit(token):
		return engine.ReasonStop
	case len(t.result.Tokens) == t.Max:
		return engine.ReasonLength
	case t.done()-after == t.session.Context():
		return engine.ReasonContext
	}
	return ""
}

// stop completes the result.
func (t *task) stop(reason engine.Reason) {
	t.result.Reason = reason
	elapsed := &t.result.Decode.Elapsed
	if len(t.text) == len(t.Prompt) && t.result.Prompt.Elapsed == 0 {
		elapsed = &t.result.Prompt.Elapsed
	}
	if !t.began.IsZero() {
		*elapsed = time.Since(t.began)
	}
}

// close closes the session.
func (t *task) close() error {
	if t.session == nil {
		return nil
	}
	session := t.session
	t.session, t.drafter = nil, nil
	return session.Close()
}
