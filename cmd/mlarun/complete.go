package main

import (
	"context"
	"io"
	"strings"

	"mla/runtime/draft"
	"mla/runtime/engine"
	"mla/runtime/sample"
	"mla/runtime/tokenizer"
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
	res, _, err := s.write(ctx, m, t, prompt, t.IsEOG)
	s.finish(m, res)
	return err
}

// drafter is what -draft names, nil without it.
func (s *settings) drafter() engine.Drafter {
	if s.draft == "" {
		return nil
	}
	return draft.Default
}

// write generates text on stdout and returns it.
func (s *settings) write(ctx context.Context, m *loaded, t *tokenizer.Tokenizer, prompt []int32, stop func(int32) bool) (engine.Result, string, error) {
	sampler, err := s.sampling.sampler()
	if err != nil {
		return engine.Result{}, "", err
	}
	restored, err := s.kept.restore(ctx, prompt)
	if err != nil {
		return engine.Result{}, "", explain(err, m.engine)
	}
	p := s.progress("prompt")
	out := &printer{w: s.env.out, stream: t.NewStream(), stops: sample.NewStopper(s.sampling.stops)}
	first := true
	res, err := m.Generate(ctx, engine.Request{Prompt: prompt, Max: s.max, Sampler: sampler, Ahead: s.ahead, Draft: s.drafter(), Stop: stop, Progress: p.count}, func(id int32) bool {
		if first {
			p.clear()
			first = false
		}
		return out.token(id)
	})
	if first {
		p.clear()
	} else {
		res.FirstToken += restored
	}
	s.kept.ran(prompt)
	out.end()
	if out.err != nil {
		return res, out.text.String(), out.err
	}
	return res, out.text.String(), explain(err, m.engine)
}

// printer writes tokens as text, as soon as it is certain.
type printer struct {
	w      io.Writer
	stream *tokenizer.Stream
	stops  *sample.Stopper
	text   strings.Builder // all that was written
	done   bool            // a stop string was found
	err    error           // of w
}

// token writes what a token completes; false ends the generation.
func (p *printer) token(id int32) bool { return p.write(p.stream.Push(id)) }

func (p *printer) write(text string) bool {
	text, p.done = p.stops.Push(text)
	p.put(text)
	return !p.done && p.err == nil
}

// end writes what was held back.
func (p *printer) end() {
	if p.done || p.write(p.stream.Flush()) {
		if !p.done {
			p.put(p.stops.Flush())
		}
	}
}

func (p *printer) put(text string) {
	if text == "" || p.err != nil {
		return
	}
	p.text.WriteString(text)
	_, p.err = io.WriteString(p.w, text)
}
