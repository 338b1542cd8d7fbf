package main

import (
	"context"
	"errors"

	"mla/runtime/engine"
	"mla/runtime/text/chat/turn"
	"mla/runtime/text/sample"
	"mla/runtime/text/tokenizer"
)

// complete continues a text without a chat template.
func (s *settings) complete(m *loaded, text string) error {
	t, err := m.engine.Tokenizer()
	if err != nil {
		return err
	}
	ctx, stop := interruptible()
	defer stop()
	prompt := t.Encode(text, tokenizer.EncodeOptions{AddBOS: true, ParseSpecial: s.special})
	res, _, err := s.write(ctx, m, t, turn.Text(t, prompt), nil)
	s.finish(m, res, s.form.given())
	return err
}

// write generates the continuation of a turn's prompt on stdout. Thoughts go to a screen.
func (s *settings) write(ctx context.Context, m *loaded, t *tokenizer.Tokenizer, what *turn.Turn, sc *screen) (engine.Result, *printer, error) {
	rules, err := s.form.of(what)
	if err != nil {
		return engine.Result{}, nil, err
	}
	out := newPrinter(what.NewWriter(s.sampling.stops, rules), shown(s.env.out), sc)
	sampler, err := s.sampler(t, s.sampling.of(t), what, out.Writer)
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
		return out.token(id)
	})
	err = noToken(out.Writer, err)
	if first {
		p.clear()
	} else {
		res.FirstToken += restored
	}
	if m.engine.Bundle() != bundle { // the rows in the file belong to another bundle
		if s.kept, err = nil, errors.Join(err, s.kept.close()); s.promptCache != "" {
			s.note("the prompt cache is left as it is\n")
		}
	}
	s.kept.ran(what.Prompt)
	out.end(res.Reason == engine.ReasonStop)
	if out.err != nil {
		return res, out, out.err
	}
	return res, out, s.explain(err, m.engine)
}

// sampler returns the sampler of a text.
func (s *settings) sampler(t *tokenizer.Tokenizer, p sample.Params, what *turn.Turn, out *turn.Writer) (engine.Sampler, error) {
	own, err := sample.New(p)
	if err != nil {
		return nil, err
	}
	var picks engine.Sampler = own
	if out.Answer != nil {
		picks = out.Answer.Sampler(own)
	}
	if what.Parser == nil || s.thinks.budget < 0 {
		return picks, nil
	}
	over := func() bool { return out.Thinking() && out.Thought >= s.thinks.budget }
	return &limited{picks, over, t.Encode(what.Think[1], tokenizer.EncodeOptions{ParseSpecial: true})}, nil
}
