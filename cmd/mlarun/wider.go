package main

import (
	"context"
	"errors"
	"slices"

	"mla/runtime/engine"
	"mla/runtime/plan"
)

// overflowed says whether an error may come of activations beyond the range of halves.
func overflowed(err error, e *engine.Engine) bool {
	var mute *engine.NoTokenError
	return errors.As(err, &mute) && e.Bundle().Activations == plan.ElemF16
}

// wider is a command line like f's for a model whose activations are floats.
func (f *flags) wider() *flags {
	wide := *f
	wide.act = plan.ActNames[plan.ElemF32]
	if wide.device == autoDevice && f.onMetal { // which was checked with halves
		wide.device = "metal"
	}
	return &wide
}

// noteWider says what a text goes on with.
const noteWider = "an activation has left the range of halves; the model goes on with -act f32\n"

// generate is Session.Generate. If activations leave the range of halves, the text goes on
// with a bundle that has floats for them, if there is one; draft makes what guesses tokens of a
// session, and may be nil.
func (l *loaded) generate(ctx context.Context, req engine.Request, draft func(*engine.Session) (engine.Drafter, error), emit func(int32) bool) (engine.Result, error) {
	res, err := l.Generate(ctx, req, emit)
	if !overflowed(err, l.engine) || !l.widen() {
		return res, err
	}
	known := 0
	if res.Prompt.Tokens+res.Reused == len(req.Prompt) {
		known = len(req.Prompt) + len(res.Tokens)
	}
	more := req
	more.Prompt = slices.Concat(req.Prompt, res.Tokens)
	more.Sampler = engine.Resumed(req.Sampler, known)
	if req.Max >= 0 {
		more.Max = req.Max - len(res.Tokens)
	}
	if more.Draft = nil; draft != nil {
		if more.Draft, err = draft(l.Session); err != nil {
			return res, err
		}
	}
	again, err := l.Generate(ctx, more, emit)
	again.Tokens = slices.Concat(res.Tokens, again.Tokens)
	again.Prompt.Tokens = min(again.Prompt.Tokens, len(req.Prompt))
	if res.FirstToken > 0 {
		again.FirstToken = res.FirstToken
	}
	return again, err
}

// widen loads the model with floats as activations, in place of the one with halves, for the
// same context. It says why not, if it cannot, and leaves the old one as it is.
func (l *loaded) widen() bool {
	context_ := l.Context()
	wide := l.flags.wider()
	eng, err := wide.open()
	if err != nil {
		return false // the error about halves says what to do
	}
	l.flags.note(noteWider)
	model, err := wide.loadInto(eng, func(*engine.Engine) (room, error) { return room{context: context_}, nil })
	var session *engine.Session
	if err == nil {
		if session, err = model.NewSession(); err != nil {
			err = errors.Join(err, model.Close())
		}
	}
	if err != nil {
		l.flags.note("%v\n", errors.Join(err, eng.Close()))
		return false
	}
	if err := l.Close(); err != nil {
		l.flags.note("%v\n", err)
	}
	l.Session, l.model, l.engine = session, model, eng
	return true
}
