package main

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"mla/runtime/device"
	"mla/runtime/plan"
	"mla/runtime/text/sample"
)

// pickedTokens are picked behind a prompt for each set of parameters.
const pickedTokens = 5

// samplings are parameters that take the sampler through all of its steps.
func samplings(vocab int) []sample.Params {
	change := func(f func(p *sample.Params)) sample.Params {
		p := sample.Off()
		p.Temperature, p.Seed = 1.5, 7
		f(&p)
		return p
	}
	none := map[int32]float32{}
	for id := range vocab {
		none[int32(id)] = float32(math.Inf(-1))
	}
	all := []sample.Params{
		sample.Off(),
		change(func(p *sample.Params) { p.TopK = 1 }),
		change(func(p *sample.Params) { p.TopK, p.Temperature = 7, 1e4 }),
		change(func(p *sample.Params) { p.TopP = 0.5 }),
		change(func(p *sample.Params) { p.TopP, p.TopK = 0.9, 30 }),
		change(func(p *sample.Params) { p.MinP = 0.3 }),
		// Rewards and penalties so large that the recent tokens decide every pick.
		change(func(p *sample.Params) { p.PresencePenalty, p.RepeatLastN, p.Temperature = 40, 2, 0 }),
		change(func(p *sample.Params) { p.PresencePenalty, p.FrequencyPenalty, p.RepeatLastN = -40, 3, 2 }),
		change(func(p *sample.Params) { p.FrequencyPenalty, p.RepeatLastN = -9, -1 }),
		change(func(p *sample.Params) { p.RepeatPenalty, p.PresencePenalty, p.RepeatLastN = 5, -40, 3 }),
		// Three tokens far above the rest: the best of them that is not recent is picked.
		change(func(p *sample.Params) {
			p.LogitBias, p.Temperature = map[int32]float32{13: 800, 14: 700, 15: 600}, 0
			p.PresencePenalty, p.RepeatLastN = 400, 2
		}),
		// Counts, which decide every pick, and top-k's ids at the same time.
		change(func(p *sample.Params) { p.TopK, p.FrequencyPenalty, p.RepeatLastN, p.Temperature = 20, -9, -1, 9 }),
		change(func(p *sample.Params) { p.LogitBias = map[int32]float32{3: 9, 4: 8, 300: -2} }),
		change(func(p *sample.Params) { p.LogitBias = none }),
	}
	for seed := range uint64(10) { // draws at a high temperature, so that many tokens are likely
		all = append(all, change(func(p *sample.Params) { p.Temperature, p.Seed = 30, seed*0x9e3779b97f4a7c15 }))
	}
	return all
}

// picks compares tokens that the GPU picks with those that the host picks from
// the same runner's logits.
func picks(r device.Runner, prompt []int32, vocab int) error {
	gpu, ok := r.(device.Sampler)
	if !ok {
		return errors.New("error: the runner picks no tokens")
	}
	p := picker{runner: gpu, prompt: prompt[:3]}
	for pos, token := range p.prompt[:2] {
		if _, err := p.replay(token, pos, false); err != nil {
			return fmt.Errorf("error: %w", err)
		}
	}
	for _, params := range samplings(vocab) {
		host, err := p.host(params)
		if err != nil {
			return fmt.Errorf("error: %w", err)
		}
		got, err := p.gpu(params)
		if err != nil {
			return fmt.Errorf("error: %w", err)
		}
		if !slices.Equal(got, host) {
			return fmt.Errorf("picks: %d; expected %d with %+v", got, host, params)
		}
	}
	return nil
}

type picker struct {
	runner device.Sampler
	prompt []int32
}

// begin runs the last token of the prompt; the cache has the others.
func (p *picker) begin(params sample.Params) (*sample.Sampler, []float32, error) {
	s, err := sample.New(params)
	if err != nil {
		return nil, nil, err
	}
	for _, token := range p.prompt {
		s.Accept(token)
	}
	last := len(p.prompt) - 1
	logits, err := p.replay(p.prompt[last], last, true)
	return s, logits, err
}

func (p *picker) replay(token int32, pos int, logits bool) ([]float32, error) {
	return p.runner.Replay([]plan.Row{{Token: uint32(token), Pos: uint32(pos), NKV: uint32(pos + 1)}}, device.AllIf(logits, 1))
}

// host picks from the logits of every token; -1 ends it.
func (p *picker) host(params sample.Params) (tokens []int32, err error) {
	s, logits, err := p.begin(params)
	for len(tokens) < pickedTokens && err == nil {
		token := s.Next(logits)
		if tokens = append(tokens, token); token < 0 {
			break
		}
		s.Accept(token)
		logits, err = p.replay(token, len(p.prompt)+len(tokens)-1, true)
	}
	return tokens, err
}

// gpu picks in four units, one more than can be in flight together.
func (p *picker) gpu(params sample.Params) (tokens []int32, err error) {
	s, _, err := p.begin(params)
	if err != nil {
		return nil, err
	}
	if err := p.runner.Begin(s.Sampling()); err != nil {
		return nil, err
	}
	for _, n := range []int{1, pickedTokens - 3, 1, 1} {
		if err := p.runner.Ahead(n); err != nil {
			return nil, err
		}
	}
	for len(tokens) < pickedTokens {
		token, err := p.runner.Next()
		if err != nil {
			return nil, err
		}
		if tokens = append(tokens, token); token < 0 {
			break
		}
	}
	return tokens, p.runner.End()
}

// keeps is the first of the samplings that keeps several tokens aside: where the first pick
// keeps its own, those of others must not be.
const keeps = 2

// picksOfRows compares tokens that the GPU picks behind as many rows as it can at once, each
// with other parameters, with those that the host picks from the same rows' logits.
func picksOfRows(r device.Runner, prompt []int32, vocab int) error {
	gpu, ok := r.(device.Picker)
	if !ok {
		return errors.New("error: the runner picks no tokens behind several rows")
	}
	var rows []plan.Row
	for pos := range plan.MaxWanted {
		rows = append(rows, plan.Row{Token: uint32(prompt[pos%len(prompt)]), Pos: uint32(pos), NKV: uint32(pos + 1)})
	}
	logits, err := r.Replay(rows, device.All(len(rows)))
	if err != nil {
		return fmt.Errorf("error: %w", err)
	}
	logits = slices.Clone(logits)
	all := samplings(vocab)
	for first := 0; first < len(all); first += len(rows) {
		var asked []device.Pick
		var want []int32
		for i := range rows {
			s, err := sample.New(all[(first+i+keeps)%len(all)])
			if err != nil {
				return fmt.Errorf("error: %w", err)
			}
			for _, row := range rows[:i+1] {
				s.Accept(int32(row.Token))
			}
			pick, err := s.Sampling().Pick(i, vocab)
			if err != nil {
				return fmt.Errorf("error: %w", err)
			}
			asked, want = append(asked, pick), append(want, s.Next(logits[i*vocab:(i+1)*vocab]))
		}
		got, err := gpu.Pick(rows, asked)
		if err != nil {
			return fmt.Errorf("error: %w", err)
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("picks: behind %d rows %d; expected %d", len(rows), got, want)
		}
	}
	return nil
}
