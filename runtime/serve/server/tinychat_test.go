package server_test

import (
	"context"
	"testing"

	"mla/generated"
	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/engine"
	"mla/runtime/engine/opening"
	"mla/runtime/gguf"
	"mla/runtime/load/bundles"
	"mla/runtime/plan"
	"mla/runtime/quant"
	"mla/runtime/serve/completion"
	"mla/runtime/serve/server"
	"mla/runtime/text/chat"
	"mla/runtime/text/sample"
)

// tinychat serves the small chat model that ships with the project, with guesses of its predicting layer.
func tinychat(t *testing.T, change ...func(*completion.Config)) *served {
	t.Helper()
	e, err := opening.Open(opening.Options{
		File:    func(device.Device) (*gguf.File, error) { return gguf.Open("../../../testdata/tinychat.gguf") },
		Bundles: &bundles.Finder{Program: generated.Bundles()},
		Devices: []opening.Candidate{{Open: func() (device.Device, error) { return cpu.New(), nil }}},
		Draft:   &opening.Draft{},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	tok, err := e.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	renderer, err := chat.For(tok.ChatTemplate(), chat.Hints{Escape: tok.Escape})
	if err != nil {
		t.Fatal(err)
	}
	runs := completion.Config{
		Tokenizer: tok, Queue: 16, Draft: func(s *engine.Session) (engine.Drafter, error) { return s.Predictor() },
		Load: func(context.Context) (*engine.Model, error) {
			return e.Load(device.Config{Context: length, Tables: sessions, Pages: sessions * plan.Pages(length), KV: quant.F16, Threads: 2, Width: e.Bundle().Width()})
		},
	}
	for _, f := range change {
		f(&runs)
	}
	return start(t, server.Config{Model: "tinychat", Context: length, Chat: renderer, Sampling: sample.Off()}, runs)
}
