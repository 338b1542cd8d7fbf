package scheduler_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"mla/generated"
	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/engine"
	"mla/runtime/engine/opening"
	"mla/runtime/quant"
	"mla/runtime/serve/scheduler"
	"mla/runtime/text/sample"
)

// TestOnCPU runs requests on the CPU device, with few pages. It checks that each request has the same tokens
// as alone: always in replays of one row, and up to a near tie in batches.
func TestOnCPU(t *testing.T) {
	e, err := opening.On("../../../testdata/reference/youtu-tiny-F32.gguf", generated.Bundles(), "", cpu.New())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for _, width := range []int{1, 16} {
		t.Run(fmt.Sprint(width), func(t *testing.T) { onCPU(t, e, width, rand.New(rand.NewPCG(seed, 0))) })
	}
}

// answered is a request with its result alone and its result in a batch.
type answered struct {
	prompt    []int32
	want, got engine.Result
	err       error
}

func onCPU(t *testing.T, e *engine.Engine, width int, rng *rand.Rand) {
	const length = 200
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
	m := load(device.Config{Context: length, Tables: 5, Pages: 8, Width: width, KV: quant.F16, Threads: 2})
	alone, err := load(device.Config{Context: length, KV: quant.F16, Threads: 1}).NewPrivateSession()
	if err != nil {
		t.Fatal(err)
	}
	vocab := int32(e.Bundle().Model.VocabSize)
	prefix := make([]int32, 140)
	for i := range prefix {
		prefix[i] = rng.Int32N(vocab)
	}
	s, err := scheduler.New(m, scheduler.Config{PromptRows: 8})
	if err != nil {
		t.Fatal(err)
	}
	var requests [12]answered
	ended := 0
	for i := range requests {
		r := &requests[i]
		r.prompt = append(slices.Clone(prefix[:rng.IntN(len(prefix))]), rng.Int32N(vocab))
		params := sample.Off()
		params.Temperature, params.Seed = 0, rng.Uint64()
		if width == 1 { // a draw has a boundary wherever one probability ends
			params.Temperature = float32(i % 2)
		}
		sampler := func() *sample.Sampler {
			s, err := sample.New(params)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		if r.want, err = alone.Generate(context.Background(), engine.Request{Prompt: r.prompt, Max: 30, Sampler: sampler()}, func(int32) bool { return true }); err != nil {
			t.Fatal(err)
		}
		err = s.Submit(context.Background(), scheduler.Request{
			Continuation: scheduler.Continuation{
				Prompt: r.prompt,
				Max:    30,
				Done: func(res engine.Result, err error) {
					ended++
					r.got, r.err = res, err
				},
			},
			Sampler: sampler(),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Run(); err != nil || ended != len(requests) {
		t.Errorf("%v; %d requests ended", err, ended)
	}
	reused := 0
	for i, r := range requests {
		reused += r.got.Reused
		same := slices.Equal(r.got.Tokens, r.want.Tokens) && r.got.Reason == r.want.Reason
		if r.err != nil || !same && (width == 1 || !nearTie(t, alone, r)) {
			t.Errorf("request %d: %d, %s, %v; alone %d, %s", i, r.got.Tokens, r.got.Reason, r.err, r.want.Tokens, r.want.Reason)
		}
	}
	if reused == 0 {
		t.Error("nothing was reused")
	}
}

// nearTie reports whether the first token in which two texts differ was a near tie. Sums of several rows have
// another order than sums of one, so logits differ in the last bits. Now and then a cached half differs,
// which changes a logit by about 2^-11 of the greatest logit.
func nearTie(t *testing.T, s *engine.Session, r answered) bool {
	n := 0
	for n < min(len(r.got.Tokens), len(r.want.Tokens)) && r.got.Tokens[n] == r.want.Tokens[n] {
		n++
	}
	if n == len(r.got.Tokens) || n == len(r.want.Tokens) {
		return false
	}
	if err := s.Sync(context.Background(), append(slices.Clone(r.prompt), r.want.Tokens[:n]...), nil); err != nil {
		t.Fatal(err)
	}
	logits := s.Logits()
	return math.Abs(float64(logits[r.got.Tokens[n]]-logits[r.want.Tokens[n]])) < 1e-3*float64(slices.Max(logits))
}
