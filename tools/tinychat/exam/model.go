package exam

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"mla/gen"
	"mla/gen/initspec"
	"mla/gen/spec"
	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/engine"
	"mla/runtime/gguf"
	"mla/runtime/load/bind"
	"mla/runtime/plan"
	"mla/runtime/quant"
	"mla/runtime/text/chat"
	"mla/runtime/text/sample"
	"mla/runtime/text/tokenizer"
)

// Model is a Taker on the CPU device. It drafts tokens with its multi-token prediction layer if it has one.
type Model struct {
	engine   *engine.Engine
	model    *engine.Model
	session  *engine.Session
	tok      *tokenizer.Tokenizer
	renderer chat.Renderer
	drafts   bool
}

// longest is an upper bound of the tokens of a case with its answer.
const longest = 2048

// Open loads a GGUF file. Its bundles are compiled from the header of the file.
func Open(path string, threads int) (*Model, error) {
	file, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	e, drafts, err := compiled(file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	m := &Model{engine: e, drafts: drafts}
	if err := m.load(threads); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// compiled returns an engine for a file, and whether the model has a multi-token prediction layer.
func compiled(file *gguf.File) (e *engine.Engine, drafts bool, err error) {
	text, err := initspec.Generate(file, "model.yaml")
	if err != nil {
		return nil, false, err
	}
	s, err := spec.Parse("model.yaml", text)
	if err != nil {
		return nil, false, err
	}
	var bundles []*plan.Bundle
	for _, v := range s.Variants() {
		b, err := gen.Compile(v, nil)
		if err != nil {
			return nil, false, err
		}
		bundles = append(bundles, b)
	}
	d := cpu.New()
	r := bind.Resolve(file)
	b, err := r.Choose(bundles, bind.Wish{Class: d.Class()})
	if err != nil {
		return nil, false, err
	}
	if e, err = engine.New(r, b, d); err != nil {
		return nil, false, err
	}
	if s.Model.NumNextNPredictLayers == 0 {
		return e, false, nil
	}
	layer, err := r.Choose(bundles, bind.Wish{Act: b.Act(), Class: d.Class(), NextN: true})
	if err == nil {
		err = e.Predict(r, layer)
	}
	return e, true, err
}

func (m *Model) load(threads int) (err error) {
	if m.tok, err = m.engine.Tokenizer(); err != nil {
		return err
	}
	if m.renderer, err = chat.For(m.tok.ChatTemplate(), chat.Hints{Escape: m.tok.Escape}); err != nil {
		return err
	}
	context := min(m.engine.MaxContext(), longest)
	cfg := device.Config{Context: context, Tables: 1, Pages: plan.Pages(context), KV: quant.F16, Threads: threads, Width: m.engine.Bundle().Width()}
	if m.model, err = m.engine.Load(cfg); err != nil {
		return err
	}
	m.session, err = m.model.NewSession()
	return err
}

// Close frees the model.
func (m *Model) Close() error {
	var err error
	if m.model != nil {
		err = m.model.Close()
	}
	return errors.Join(err, m.engine.Close())
}

// Renderer implements Taker.
func (m *Model) Renderer() chat.Renderer { return m.renderer }

// tokens returns the tokens of a prompt.
func (m *Model) tokens(prompt string) []int32 {
	return m.tok.Encode(prompt, tokenizer.EncodeOptions{ParseSpecial: true, Escaped: true})
}

// Answer implements Taker.
func (m *Model) Answer(ctx context.Context, prompt string, most int) (a Answer, err error) {
	sampler, err := sample.New(sample.Off())
	if err != nil {
		return a, err
	}
	req := engine.Request{Prompt: m.tokens(prompt), Max: most, Sampler: sampler}
	if capacity := m.model.Context() - len(req.Prompt); capacity < most {
		return a, fmt.Errorf("%d tokens and an answer of %d do not fit into %d", len(req.Prompt), most, m.model.Context())
	}
	if m.drafts {
		if req.Draft, err = m.session.Predictor(); err != nil {
			return a, err
		}
	}
	var stops []int32
	for _, text := range m.renderer.Stops() {
		if id, ok := m.tok.TokenID(text); ok {
			stops = append(stops, id)
		}
	}
	req.Stop = func(id int32) bool {
		if !m.tok.IsEOG(id) && !slices.Contains(stops, id) {
			return false
		}
		a.End = m.tok.TokenText(id)
		return true
	}
	res, err := m.session.Generate(ctx, req, func(int32) bool { return true })
	a.Text, a.Drafted, a.Accepted = m.tok.Decode(res.Tokens), res.Drafted, res.Accepted
	return a, err
}
