// Package mla runs language models with multi-head latent attention (DeepSeek-V2 and V3,
// GLM-4.7-Flash, Kimi-K2, Mistral Large 3 and others) from GGUF files, in Go without cgo.
//
// [Open] brings a model to a device. [Model.NewSession] begins a text, which
// [Session.Generate] continues piece by piece; [Model.NewChat] is a conversation, in the
// model's own chat template; [Model.Batch] continues many texts side by side, [Model.BatchChats]
// answers many conversations. [Session.Logits] are the numbers after all of them.
// [Model.NewServer] serves the model over HTTP. The models give no embeddings of texts.
//
// What runs a model is its bundle: the kernels and dispatch tables that mlagen compiled for
// it. Those of the models in specs/ are part of this module. For other models there are
// bundle files (mlagen -gguf my.gguf writes my.mla, which Open finds beside the model), and
// packages that mlagen -spec F -out DIR writes into any module ([Options].Bundles).
//
// A Model, its sessions and its chats are for one goroutine at a time; a Server is for all.
package mla

import (
	"context"
	"errors"
	"fmt"

	"mla/generated"
	"mla/runtime/device"
	"mla/runtime/device/metal"
	"mla/runtime/engine"
	"mla/runtime/engine/opening"
	"mla/runtime/gguf"
	"mla/runtime/load/bundles"
	"mla/runtime/plan"
	"mla/runtime/plan/bundlefile"
	"mla/runtime/text/tokenizer"
)

// Options say how a model is run. The zero value is a good choice.
type Options struct {
	// Device is "cpu", "cuda" or "metal"; "": an NVIDIA GPU if there is one that has
	// kernels of the bundle; else Apple's if it was checked, see Checker; else the CPU.
	Device string
	// Checker is the path of the program mlarun, which checks Apple's GPU against the CPU in a
	// process of its own: once for each GPU, system, program and model, for about a minute. "":
	// only what came of such a check before counts.
	Checker string
	// MetalLibrary is a library that stands in for Apple's Metal; "": there is none.
	MetalLibrary string
	// Progress is told how far a download and the loading of the weights have come; nil: nobody
	// is told.
	Progress func(Progress)
	// Note gets lines about which device runs the model, and why; nil: nobody is told.
	Note func(line string)
	// Context is how many tokens a session can have; 0: as many as the model has and memory
	// allows. Note is told the number and why.
	Context int
	// Sessions is how many can be open at a time, which is also how many texts of a batch
	// run side by side; 0: 1. Memory for the latent caches of all is taken by Open.
	Sessions int
	// CacheRAM is how many bytes of memory copies of states may take, of a model with linear attention: texts go on
	// only where there is one. 0: eight copies for each session; below 0: none, and what does not go on from the last
	// text of a session is run again from its beginning.
	CacheRAM int64
	// Bundle is a bundle file, or the name of a bundle; "": the one that fits best, of the
	// bundle file beside the model, the user's folder of bundle files, and Bundles.
	Bundle string
	// Bundles are compiled ones to choose from, such as those of a package that mlagen
	// wrote; nil: those of this module.
	Bundles []*plan.Bundle
	// Activations are "f32" or "f16"; "": f16 on a GPU and f32 on the CPU, or what Bundle has. Where
	// a file's activations leave the range of f16, the model goes on with f32.
	Activations string
	// Cache is the type of the latent caches: "f16", "f32" or "q8_0"; "": f16.
	Cache string
	// Threads is how many the CPU uses; 0: one per core.
	Threads int
	// ChatTemplate is a template in Jinja to use in place of the file's.
	ChatTemplate string
	// Draft is the way to draft tokens that are run in one batch with the one before them
	// (speculative decoding): "ngram", as the text went on where its last tokens stood before,
	// or "mtp", by the model's layer that predicts the token after next; "": none. Texts are the
	// same up to rounding.
	Draft string
	// DraftModel is a file with the layer for "mtp"; "": the model's own file has it.
	DraftModel string
}

// Model is a model on its device.
type Model struct {
	engine       *engine.Engine
	model        *engine.Model
	tokenizer    *tokenizer.Tokenizer
	chatTemplate string
	config       device.Config
	drafting     opening.Drafting
	served       bool // a Server has the model, and closes it
}

// Open maps a GGUF file, chooses its bundle and brings the weights to the device. Of a split
// model, path is the first file. A name like user/repo:Q4_K_M is a model of the Hugging Face hub:
// Open takes it from the hub's cache, or downloads it once. An error that a model has no bundle
// says which command makes one. Memory that is not there is an error too, before any is taken.
func Open(path string, o Options) (*Model, error) {
	return OpenContext(context.Background(), path, o)
}

// OpenContext is Open with a context that ends a download.
func OpenContext(ctx context.Context, path string, o Options) (*Model, error) {
	drafting := opening.Drafting{How: o.Draft, File: o.DraftModel}
	if err := drafting.Check(); err != nil {
		return nil, fmt.Errorf("the way to draft %w", err)
	}
	path, err := o.fetch(ctx, path)
	if err != nil {
		return nil, err
	}
	e, err := o.engine(path, drafting.Layer("Options.Draft"))
	if err != nil {
		return nil, err
	}
	m, err := o.load(e)
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	m.drafting = drafting
	return m, nil
}

// engine joins a file with its bundle and a device.
func (o *Options) engine(path string, draft *opening.Draft) (*engine.Engine, error) {
	folder, _ := bundlefile.Folder() // a user without one has no bundle files there
	finder := &bundles.Finder{Folder: folder, Program: o.Bundles}
	if o.Bundles == nil {
		finder.Program = generated.Bundles()
	}
	candidates, err := o.candidates(finder)
	if err != nil {
		return nil, err
	}
	return opening.Open(opening.Options{
		File:    func(device.Device) (*gguf.File, error) { return gguf.Open(path) },
		Bundles: finder, Bundle: o.Bundle, Act: o.Activations, Cache: metal.CacheFolder(), Devices: candidates, Draft: draft,
		Say:  func(line string) { o.note("%s", line) },
		Note: func(reason error, next string) { o.note("%v; device %s is tried next", reason, next) },
	})
}

// load brings a model to its device.
func (o *Options) load(e *engine.Engine) (*Model, error) {
	kv, err := o.cache()
	if err != nil {
		return nil, err
	}
	tok, err := e.Tokenizer()
	if err != nil {
		return nil, err
	}
	cfg := device.Config{
		Context: o.Context, Tables: max(o.Sessions, 1),
		KV: kv, Threads: o.Threads, CacheRAM: o.CacheRAM, Width: e.Bundle().Width(), Progress: tell[int64](o.Progress, Loading)}
	if cfg.Context == 0 {
		capacity, err := e.Capacity(cfg, cfg.Tables, e.Free())
		if err != nil {
			return nil, err
		}
		cfg.Context = capacity.Context
		o.note("context %d: %s", capacity.Context, capacity.Why)
	}
	cfg.Pages = engine.PagesOf(cfg.Tables, cfg.Context)
	memory, err := e.Estimate(cfg)
	if err != nil {
		return nil, err
	}
	if err := memory.Check(); err != nil {
		return nil, err
	}
	m, err := e.Load(cfg)
	if err != nil {
		return nil, err
	}
	return &Model{engine: e, model: m, tokenizer: tok, chatTemplate: o.ChatTemplate, config: cfg}, nil
}

// Close ends all sessions, frees what the device has of the model, and unmaps the file.
func (m *Model) Close() error {
	if m.served {
		return m.engine.Close()
	}
	return errors.Join(m.model.Close(), m.engine.Close())
}

// Bundle is the name of the bundle that runs the model.
func (m *Model) Bundle() string { return m.engine.Bundle().Name }

// Device is the name of the device that the model is on.
func (m *Model) Device() string { return m.engine.Device().Name() }

// Context is how many tokens a session can have.
func (m *Model) Context() int { return m.model.Context() }

// VocabSize is how many tokens the model knows, and the length of its logits.
func (m *Model) VocabSize() int { return m.engine.Bundle().Model.VocabSize }

// Tokenize returns the tokens of a text, with the one that begins a text in front if the
// model wants that. Names of control tokens are text.
func (m *Model) Tokenize(text string) []int32 {
	return m.tokenizer.Encode(text, tokenizer.EncodeOptions{AddBOS: true})
}

// Detokenize returns the text of tokens.
func (m *Model) Detokenize(tokens []int32) string { return m.tokenizer.Decode(tokens) }
