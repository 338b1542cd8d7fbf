package scheduler_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"mla/generated"
	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/engine"
	"mla/runtime/quant"
	"mla/runtime/sample"
	"mla/runtime/scheduler"
)

// TestOnCPU runs requests on the CPU device, with few pages, and wants of each the
// tokens that it has alone.
func TestOnCPU(t *testing.T) {
	e, err := engine.Open("../../testdata/reference/youtu-tiny-F32.gguf", engine.Options{Bundles: generated.Bundles(), Device: cpu.New()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	load := func(cfg device.Config) *engine.Model {
		m, err := e.Load(cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		})
		return m
	}
	const length = 200
	m := load(device.Config{Context: length, Tables: 5, Pages: 8, Width: 16, KV: quant.F16, Threads: 2})
	alone, err := load(device.Config{Context: length, KV: quant.F16, Threads: 1}).NewPrivateSession()
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	vocab := int32(e.Bundle().Model.VocabSize)
	prefix := make([]int32, 140)
	for i := range prefix {
		prefix[i] = rng.Int32N(vocab)
	}
	s, err := scheduler.New(m, scheduler.Config{PromptRows: 8})
	if err != nil {
		t.Fatal(err)
	}
	var failed []error
	ended, reused := 0, 0
	for i := range 12 {
		prompt := append(slices.Clone(prefix[:rng.IntN(len(prefix))]), rng.Int32N(vocab))
		params := sample.Off()
		params.Temperature, params.Seed = float32(i%2), rng.Uint64()
		sampler := func() *sample.Sampler {
			s, err := sample.New(params)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		want, err := alone.Generate(context.Background(), engine.Request{Prompt: prompt, Max: 30, Sampler: sampler()}, func(int32) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		err = s.Submit(context.Background(), scheduler.Request{Prompt: prompt, Max: 30, Sampler: sampler(), Done: func(res engine.Result, err error) {
			ended++
			reused += res.Reused
			if err != nil || !slices.Equal(res.Tokens, want.Tokens) || res.Reason != want.Reason {
				failed = append(failed, fmt.Errorf("request %d: %d, %s, %v; alone %d, %s", i, res.Tokens, res.Reason, err, want.Tokens, want.Reason))
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Run(); err != nil || ended != 12 {
		t.Errorf("%v; %d requests ended", err, ended)
	}
	for _, err := range failed {
		t.Error(err)
	}
	if reused == 0 {
		t.Error("nothing was reused")
	}
}
