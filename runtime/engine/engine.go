// Package engine runs a model: an Engine is an open file with the bundle that
// fits it, a Model is its weights on a device, and a Session is one timeline of tokens
// with its pages of the latent caches. Callers deal in tokens and logits, never in
// tensors.
//
// # Sessions
//
// Engine.Load brings the weights to the device once, with a pool of pages and some block tables. A
// Session is tokens and a paging.Sequence; it takes a block table and records nothing. Model.order is
// the one place that carries out orders of package paging. A session reserves pages before rows run,
// also for tokens that a device picks ahead (pages.go). The runner's logits belong to the session
// whose row was run last.
//
// Sessions of models with linear attention have a state, too (states.go): a text goes on only where there is a copy
// of it, and whatever rewinds a timeline goes back to one.
//
// # Speculative decoding
//
// A Drafter guesses how a text goes on: package draft by the text itself, Session.Predictor by the
// model's MTP layer. drafted.go runs the drafts in one batch with a token and keeps those that are what
// the sampler picks. Package payoff decides whether drafting pays. A sampler that picks by more than
// what it has accepted, such as a grammar, is Watching and goes without.
//
// spec.NextNLayer is the MTP layer as a model of its own. It begins not with an embedding but with
// Sequence.Input, which the host writes (package nextn). predict.go loads it beside the model, gives
// it the same orders of pages, and keeps the hidden states of rows that the layer has not run. It
// runs them when there are enough, when a draft is wanted, or before another session can find their
// pages. A row whose hidden state nobody kept counts as 0: that costs a draft, never a text.
//
// # Activations
//
// A model whose activations are halves goes on with floats where one leaves their range (wider.go):
// replay finds logits that are no numbers, or that a device picked no token. It loads the model
// that Wider opens in place of the runner, runs again what sessions have run, and then the same rows.
// Callers, and what drafts, notice nothing. Steps that a device makes by itself are run again by Pick.
//
// Session.SavePrompt and Session.Restore bring pages to a file and back (package promptcache).
// Restored pages are in the model's pool as if they had been run, so other sessions find them.
package engine

import (
	"errors"
	"fmt"
	"sync"

	"mla/runtime/device"
	"mla/runtime/gguf"
	"mla/runtime/load/bind"
	"mla/runtime/plan"
	"mla/runtime/text/tokenizer"
)

// Engine is an open model file and the bundle that runs it. Weights are bound
// when a model is loaded, the tokeniser is built when it is asked
// for, so looking at a file is cheap.
type Engine struct {
	resolved  *bind.Resolved
	bundle    *plan.Bundle
	layer     *layer // that predicts; nil without Predict
	device    device.Device
	context   int // the longest that file and bundle allow
	model     func() (*device.Model, error)
	tokenizer func() (*tokenizer.Tokenizer, error)
	wider     *Wider // nil: activations are floats, or stay halves
}

// New is the engine of a file with a bundle that was chosen for it, on a device. The
// engine closes the file.
func New(r *bind.Resolved, b *plan.Bundle, d device.Device) (*Engine, error) {
	h, err := r.HParams()
	if err != nil {
		return nil, err
	}
	return &Engine{
		resolved: r, bundle: b, device: d,
		context:   min(h.MaxPositionEmbeddings, b.Model.MaxPositionEmbeddings),
		model:     sync.OnceValues(func() (*device.Model, error) { return r.Bind(b) }),
		tokenizer: sync.OnceValues(func() (*tokenizer.Tokenizer, error) { return tokenizer.FromGGUF(r.File) }),
	}, nil
}

// Bundle is the compiled model that the engine replays.
func (e *Engine) Bundle() *plan.Bundle { return e.bundle }

// File is the open model file.
func (e *Engine) File() *gguf.File { return e.resolved.File }

// Resolved is the file with what was found in it.
func (e *Engine) Resolved() *bind.Resolved { return e.resolved }

// Device is where sessions run.
func (e *Engine) Device() device.Device { return e.device }

// MaxContext is the longest context that both the file and the bundle allow,
// in tokens.
func (e *Engine) MaxContext() int { return e.context }

// Tokenizer is the file's tokeniser. A file without one can still be run by
// token ids.
func (e *Engine) Tokenizer() (*tokenizer.Tokenizer, error) { return e.tokenizer() }

// allows checks what a model is to be loaded for.
func (e *Engine) allows(cfg device.Config) error {
	switch {
	case cfg.Context < 1 || cfg.Context > e.context:
		return fmt.Errorf("a context of %d tokens; this model allows 1 to %d", cfg.Context, e.context)
	case cfg.Pages < 0 || cfg.Pages > device.MaxPages:
		return fmt.Errorf("%d pages; a model has 1 to %d", cfg.Pages, device.MaxPages)
	case cfg.Tables < 0 || cfg.Tables > device.MaxTables:
		return fmt.Errorf("room for %d sessions; a model has it for 1 to %d", cfg.Tables, device.MaxTables)
	}
	if !cfg.Int8 {
		return nil
	}
	if d, ok := e.device.(device.Int8er); ok {
		return d.Int8(e.bundle)
	}
	return fmt.Errorf("device %s does not round inputs to bytes; the CPU device does", e.device.Name())
}

// Close unmaps the file, and that of the layer which predicts.
func (e *Engine) Close() error {
	if e.layer != nil && e.layer.File != e.resolved.File {
		return errors.Join(e.layer.File.Close(), e.resolved.File.Close())
	}
	return e.resolved.File.Close()
}
