package scheduler

import (
	"context"
	"time"

	"mla/runtime/engine"
	"mla/runtime/engine/payoff"
)

// task is a request on its way. Its text is the prompt and what was picked; a prefix of
// it is on the session's timeline, the rest has to be run. That a task has given its
// pages back only means that all of its text has to be.
type task struct {
	Request
	ctx       context.Context
	number    int // in the order in which they joined
	text      []int32
	session   *engine.Session // nil: it waits for one
	drafter   engine.Drafter  // of the session; nil: nothing is guessed
	share     payoff.Share    // of what guesses save
	waits     bool            // for pages
	unguessed int             // tokens that were last run so where there was nothing to guess; 0: a guess was right since
	result    engine.Result

	submitted time.Time
	began     time.Time // the prompt, and then decoding
}

// done is how many tokens of the text have been run.
func (t *task) done() int { return len(t.session.Tokens()) }

// left is how many have not.
func (t *task) left() int { return len(t.text) - t.done() }

// started says whether the prompt has ever been run to its end.
func (t *task) started() bool { return len(t.text) > len(t.Prompt) }

// decoding says whether the next row is that of the token that was picked last.
func (t *task) decoding() bool { return t.started() && t.left() == 1 }

// ready says whether a task has a row for the next round, unless there is no page for it.
func (t *task) ready() bool { return t.decoding() && !t.waits }

// portable says whether a device can pick for the sampler, by nothing but what that has accepted.
func (t *task) portable() bool {
	_, portable := t.Sampler.(engine.Portable)
	_, watches := t.Sampler.(engine.Watching)
	return portable && !watches
}

// row is the next one, after rows that are in the same step already.
func (t *task) row(after int) engine.Row {
	at := t.done() + after
	r := engine.Row{Session: t.session, Token: t.text[at]}
	last := at == len(t.text)-1
	switch {
	case !t.started():
		t.result.Prompt.Tokens++
	case last: // the others have been run before
		t.result.Decode.Tokens++
	}
	if last && t.Max != 0 {
		t.begin()
		r.Sampler = t.Sampler
	}
	return r
}

// begin tells the sampler the prompt, before it picks the first token.
func (t *task) begin() {
	if !t.started() {
		for _, token := range t.Prompt {
			t.Sampler.Accept(token)
		}
	}
}

// reuse takes over the rows that the model's pages have of the tokens to follow.
func (t *task) reuse() error {
	found, err := t.session.Reuse(t.text[t.done():])
	if !t.started() {
		t.result.Reused += found
	}
	return err
}

// take makes the tokens that were picked the text's, or ends the request. The timeline has
// all but the last, and the sampler knows them.
func (s *Scheduler) take(t *task, tokens []int32) {
	if t.Max == 0 { // nothing was picked
		tokens = []int32{0}
	}
	for i, token := range tokens {
		after := len(tokens) - 1 - i
		if s.takeOne(t, token, after); t.session == nil || after > 0 && t.ctx.Err() != nil {
			return // it has ended, or ends before the next step
		}
		if after > 0 {
			t.unguessed = 0
			t.result.Accepted++
			t.result.Decode.Tokens++
		}
	}
}

// takeOne takes a token; after is how many tokens follow it on the timeline.
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

// ends is why the request ends with a token that others follow on the timeline; "": it goes on.
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

// close gives the session back.
func (t *task) close() error {
	if t.session == nil {
		return nil
	}
	session := t.session
	t.session, t.drafter = nil, nil
	return session.Close()
}
