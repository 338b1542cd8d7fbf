// Package engine runs a model. An Engine is an open file with the bundle that fits it. A Model is its weights
// on a device. A Session is one timeline of tokens with its pages of the latent caches. Callers work with
// tokens and logits, not with tensors.
//
// # Sessions
//
// Engine.Load brings the weights to the device once, with a pool of pages and a number of block tables. A
// Session is tokens and a paging.Sequence. It takes a block table, and records nothing on the device.
// Model.order is the only place that executes orders of package paging. A session reserves pages before its
// rows run, and before a device runs ahead (pages.go). The runner's logits belong to the session whose row
// was run last.
//
// Sessions of models with linear attention have a state, too (states.go). A text can only be continued at a
// position whose state was copied, so whatever rewinds a timeline returns to such a position.
//
// # Speculative decoding
//
// A Drafter drafts the next tokens: package draft from the text itself, Session.Predictor with the model's
// MTP layer. drafted.go runs the drafts in one batch with a token, and keeps those that are equal to the
// sampler's picks. Package payoff decides whether drafting pays. A sampler that picks by more than the tokens
// that it has accepted, such as a grammar, is Watching, and gets no drafts.
//
// spec.NextNLayer makes the MTP layer a model of its own. Its input is not an embedding but Sequence.Input,
// which the host writes (package nextn). predict.go loads the layer beside the model, applies the same orders
// of pages to it, and keeps the hidden states of rows that the layer has not run yet. It runs these rows when
// there are enough of them, when a draft is wanted, or before another session can find their pages. An
// unknown hidden state counts as 0: that may make a draft worse, but never changes a text.
//
// # Activations
//
// If an activation exceeds the range of halves, the model continues with floats (wider.go). replay notices
// logits that are not numbers, or a row for which the device picked no token. It then loads the model that
// Wider opens in place of the runner, runs the tokens of all sessions again, and then the same rows. Callers
// and drafters do not notice. Steps that a device had made ahead are run again by Pick.
//
// Session.SavePrompt and Session.Restore write pages to a file and read them back (package promptcache).
// Restored pages are in the model's pool like pages that were run, so other sessions find them.
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

// Engine is an open model file and the bundle that runs it. The weights are bound when a model is loaded, and
// the tokeniser is built at its first use: so opening a file to look at it is cheap.
type Engine struct {
	resolved  *bind.Resolved
	bundle    *plan.Bundle
	layer     *layer // the MTP layer; nil: Predict was not called
	device    device.Device
	context   int // the longest context that the file and the bundle allow
	model     func() (*device.Model, error)
	tokenizer func() (*tokenizer.Tokenizer, error)
	wider     *Wider // nil: activations are floats, or stay halves
}

// New returns the engine of a file with the bundle that was chosen for it, on a device. The engine takes over
// the file, and closes it.
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

// Resolved is the file with its resolved tensors and hyper-parameters.
func (e *Engine) Resolved() *bind.Resolved { return e.resolved }

// Device is where sessions run.
func (e *Engine) Device() device.Device { return e.device }

// MaxContext is the longest context that the file and the bundle allow, in tokens.
func (e *Engine) MaxContext() int { return e.context }

// Tokenizer is the file's tokeniser. A file without one can still be run by token ids.
func (e *Engine) Tokenizer() (*tokenizer.Tokenizer, error) { return e.tokenizer() }

// allows checks the configuration with which a model is to be loaded.
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

// Close closes the file, and the file of the MTP layer.
func (e *Engine) Close() error {
	if e.layer != nil && e.layer.File != e.resolved.File {
		return errors.Join(e.layer.File.Close(), e.resolved.File.Close())
	}
	return e.resolved.File.Close()
}
