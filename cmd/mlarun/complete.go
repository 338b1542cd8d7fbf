package main

import (
	"context"
	"errors"

	"mla/runtime/engine"
	turns "mla/runtime/text/chat/turn"
	"mla/runtime/text/guided"
	"mla/runtime/text/sample"
	"mla/runtime/text/tokenizer"
)

// complete continues a text as it is.
func (s *settings) complete(m *loaded, text string) error {
	t, err := m.engine.Tokenizer()
	if err != nil {
		return err
	}
	ctx, stop := interruptible()
	defer stop()
	prompt := t.Encode(text, tokenizer.EncodeOptions{AddBOS: true, ParseSpecial: s.special})
	res, _, err := s.write(ctx, m, t, turn{turns.Text(t, prompt), &answerParts{}})
	s.finish(m, res, s.form.given())
	return err
}

// turn is what is generated behind a prompt.
type turn struct {
	*turns.Turn
	answers *answerParts
}

// write generates text on stdout.
func (s *settings) write(ctx context.Context, m *loaded, t *tokenizer.Tokenizer, what turn) (engine.Result, *printer, error) {
	out := &printer{w: shown(s.env.out), stream: t.NewStream(), stops: sample.NewStopper(s.sampling.stops), turn: what.Turn, answerParts: what.answers}
	sampler, formed, err := s.sampler(t, s.sampling.of(t), what, out)
	if err != nil {
		return engine.Result{}, out, err
	}
	restored, err := s.kept.restore(ctx, what.Prompt)
	if err != nil {
		return engine.Result{}, out, s.explain(err, m.engine)
	}
	drafter, err := s.drafting().Drafter(m.Session)
	if err != nil {
		return engine.Result{}, out, err
	}
	p := s.progress("prompt")
	first := true
	bundle := m.engine.Bundle()
	res, err := m.Generate(ctx, engine.Request{Prompt: what.Prompt, Max: s.max, Sampler: sampler, Ahead: s.ahead, Draft: drafter, Stop: what.Ends, Progress: p.count}, func(id int32) bool {
		if first {
			p.clear()
			first = false
		}
		return out.token(id) && formed.Token(id)
	})
	err = noToken(formed, err)
	if first {
		p.clear()
	} else {
		res.FirstToken += restored
	}
	if m.engine.Bundle() != bundle { // its rows are not those of the file
		if s.kept, err = nil, errors.Join(err, s.kept.close()); s.promptCache != "" {
			s.note("the prompt cache is left as it is\n")
		}
	}
	s.kept.ran(what.Prompt)
	out.end()
	if out.err != nil {
		return res, out, out.err
	}
	return res, out, s.explain(err, m.engine)
}

// sampler picks the tokens of a text; formed is nil if it follows no grammar.
func (s *settings) sampler(t *tokenizer.Tokenizer, p sample.Params, what turn, out *printer) (engine.Sampler, *guided.Text, error) {
	own, err := sample.New(p)
	if err != nil {
		return nil, nil, err
	}
	picks, formed, err := s.form.begin(own, t, what)
	if err != nil || what.Parser == nil || s.thinks.budget < 0 {
		return picks, formed, err
	}
	over := func() bool { return what.Parser.Thinking() && out.thought >= s.thinks.budget }
	return &limited{picks, over, t.Encode(what.Think[1], tokenizer.EncodeOptions{ParseSpecial: true})}, formed, nil
}
