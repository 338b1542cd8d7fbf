package scheduler

import (
	"context"
	"sync"
	"time"

	"mla/runtime/engine"
)

// task is a request on its way. Its text is the prompt and what was picked; a prefix of
// it is on the session's timeline, the rest has to be run. That a task has given its
// pages back only means that all of its text has to be.
type task struct {
	Request
	ctx     context.Context
	number  int // in the order in which they joined
	text    []int32
	session *engine.Session // nil: it waits for one
	picked  int32           // from the logits of the last step
	waits   bool            // for pages
	result  engine.Result

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

// row is the next one, behind rows that are in the same step already.
func (t *task) row(behind int) engine.Row {
	at := t.done() + behind
	if t.started() {
		if at == len(t.text)-1 { // the others have been run before
			t.result.Decode.Tokens++
		}
	} else {
		t.result.Prompt.Tokens++
	}
	return engine.Row{Session: t.session, Token: t.text[at], Logits: at == len(t.text)-1}
}

// reuse takes over the rows that the model's pages have of the tokens to follow.
func (t *task) reuse() error {
	found, err := t.session.Reuse(t.text[t.done():])
	if !t.started() {
		t.result.Reused += found
	}
	return err
}

// pickAll lets the tasks of rows with logits pick, all at a time: to look at the whole
// vocabulary takes about as long as a row.
func pickAll(tasks []*task, of [][]float32) {
	var all sync.WaitGroup
	for i, logits := range of {
		if logits != nil {
			all.Go(func() { tasks[i].pick(logits) })
		}
	}
	all.Wait()
}

// pick is the sampler's choice.
func (t *task) pick(logits []float32) {
	if !t.started() {
		for _, token := range t.Prompt {
			t.Sampler.Accept(token)
		}
		now := time.Now()
		t.result.Prompt.Elapsed, t.began = now.Sub(t.began), now
	}
	if t.Max != 0 {
		t.picked = t.Sampler.Next(logits)
	}
}

// take makes the token that was picked the text's, or ends the request.
func (s *Scheduler) take(t *task) {
	if t.Max == 0 {
		s.end(t, engine.ReasonLength, nil)
		return
	}
	switch token := t.picked; {
	case token < 0:
		s.end(t, engine.ReasonError, &engine.NoTokenError{Position: t.done() - 1})
	case t.Stop != nil && t.Stop(token):
		s.end(t, engine.ReasonStop, nil)
	default:
		t.Sampler.Accept(token)
		t.result.Tokens = append(t.result.Tokens, token)
		if len(t.result.Tokens) == 1 {
			t.result.FirstToken = time.Since(t.submitted)
		}
		t.text = append(t.text, token)
		if reason := t.after(token); reason != "" {
			s.end(t, reason, nil)
		}
	}
}

// after is why the request ends behind a token; "": it goes on.
func (t *task) after(token int32) engine.Reason {
	switch {
	case t.Emit != nil && !t.Emit(token):
		return engine.ReasonStop
	case len(t.result.Tokens) == t.Max:
		return engine.ReasonLength
	case t.done() == t.session.Context():
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
	t.session = nil
	return session.Close()
}
