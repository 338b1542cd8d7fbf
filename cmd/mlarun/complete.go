package main

import (
	"context"
	"errors"

	"mla/runtime/engine"
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
	res, _, err := s.write(ctx, m, t, turn{prompt: prompt, stop: t.IsEOG, answers: &answerParts{}})
	s.finish(m, res, s.form.given())
	return err
}

// turn is what is generated behind a prompt.
type turn struct {
	prompt []int32
	stop   func(int32) bool
	// answers is what takes an answer apart; without a parser the text is none.
	answers *answerParts
}

// write generates text on stdout.
func (s *settings) write(ctx context.Context, m *loaded, t *tokenizer.Tokenizer, what turn) (engine.Result, *printer, error) {
	out := &printer{w: shown(s.env.out), stream: t.NewStream(), stops: sample.NewStopper(s.sampling.stops), answerParts: what.answers}
	sampler, formed, err := s.sampler(t, s.sampling.of(t), what, out)
	if err != nil {
		return engine.Result{}, out, err
	}
	restored, err := s.kept.restore(ctx, what.prompt)
	if err != nil {
		return engine.Result{}, out, s.explain(err, m.engine)
	}
	drafter, err := s.drafter(m.Session)
	if err != nil {
		return engine.Result{}, out, err
	}
	p := s.progress("prompt")
	first := true
	bundle := m.engine.Bundle()
	res, err := m.Generate(ctx, engine.Request{Prompt: what.prompt, Max: s.max, Sampler: sampler, Ahead: s.ahead, Draft: drafter, Stop: what.stop, Progress: p.count}, func(id int32) bool {
		if first {
			p.clear()
			first = false
		}
		return out.token(id) && formed.token(id)
	})
	err = formed.explain(err)
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
	s.kept.ran(what.prompt)
	out.end()
	if out.err != nil {
		return res, out, out.err
	}
	return res, out, s.explain(err, m.engine)
}

// sampler picks the tokens of a text; formed is nil if it follows no grammar.
func (s *settings) sampler(t *tokenizer.Tokenizer, p sample.Params, what turn, out *printer) (engine.Sampler, *formed, error) {
	own, err := sample.New(p)
	if err != nil {
		return nil, nil, err
	}
	picks, formed, err := s.form.begin(own, t, what.prompt, what.stop)
	if err != nil || out.parser == nil || s.thinks.budget < 0 {
		return picks, formed, err
	}
	over := func() bool { return out.parser.Thinking() && out.thought >= s.thinks.budget }
	return &limited{picks, over, t.Encode(thinkEnd, tokenizer.EncodeOptions{ParseSpecial: true})}, formed, nil
}
