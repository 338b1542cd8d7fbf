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

// pickedTokens are picked after a prompt for each set of parameters.
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
	gpu, ok := r.(device.Picker)
	if !ok {
		return errors.New("error: the runner picks no tokens")
	}
	p := picker{runner: gpu, prompt: prompt[:3], vocab: vocab}
	for pos, token := range p.prompt[:2] {
		if _, err := r.Replay(p.row(token, pos), nil); err != nil {
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
	runner device.Picker
	prompt []int32
	vocab  int
}

func (p *picker) row(token int32, pos int) []plan.Row {
	return []plan.Row{{Token: uint32(token), Pos: uint32(pos), NKV: uint32(pos + 1)}}
}

// begin is a sampler after the prompt, and the prompt's last row; the cache has the others.
func (p *picker) begin(params sample.Params) (*sample.Sampler, []plan.Row, error) {
	s, err := sample.New(params)
	if err != nil {
		return nil, nil, err
	}
	for _, token := range p.prompt {
		s.Accept(token)
	}
	last := len(p.prompt) - 1
	return s, p.row(p.prompt[last], last), nil
}

// host picks from the logits of every token; -1 ends it.
func (p *picker) host(params sample.Params) (tokens []int32, err error) {
	s, row, err := p.begin(params)
	for len(tokens) < pickedTokens && err == nil {
		logits, err := p.runner.Replay(row, device.All(1))
		if err != nil {
			return nil, err
		}
		token := s.Next(logits)
		if tokens = append(tokens, token); token < 0 {
			break
		}
		s.Accept(token)
		row = p.row(token, len(p.prompt)+len(tokens)-1)
	}
	return tokens, err
}

// gpu lets the GPU continue by itself as long as it can: in four units, one more than can be in
// flight together, or else in one for each token.
func (p *picker) gpu(params sample.Params) (tokens []int32, err error) {
	s, row, err := p.begin(params)
	for len(tokens) < pickedTokens && err == nil {
		state := s.Sampling()
		pick, err := state.Pick(0, p.vocab)
		if err != nil {
			return nil, err
		}
		picked, err := p.runner.Pick(row, []device.Pick{pick})
		if err != nil {
			return nil, err
		}
		if tokens = append(tokens, picked[0]); picked[0] < 0 {
			break
		}
		if state.Repeats() {
			return p.loop(tokens)
		}
		s.Skip()
		s.Accept(picked[0])
		row = p.row(picked[0], len(p.prompt)+len(tokens)-1)
	}
	return tokens, err
}

func (p *picker) loop(tokens []int32) ([]int32, error) {
	for _, n := range []int{1, pickedTokens - 3, 1} {
		if err := p.runner.Continue(n); err != nil {
			return nil, err
		}
	}
	for len(tokens) < pickedTokens {
		picked, err := p.runner.Next()
		if err != nil {
			return nil, err
		}
		if tokens = append(tokens, picked[0]); picked[0] < 0 {
			break
		}
	}
	return tokens, nil
}

// keeps is the first of the samplings that keeps several tokens aside: where the first pick
// keeps its own, those of others must not be.
const keeps = 2

// picksOfRows compares tokens that the GPU picks after as many rows as it can at once, each
// with other parameters, with those that the host picks from the same rows' logits.
func picksOfRows(r device.Runner, prompt []int32, vocab int) error {
	gpu, ok := r.(device.Picker)
	if !ok {
		return errors.New("error: the runner picks no tokens after several rows")
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
			own := logits[i*vocab : (i+1)*vocab]
			best := s.Next(own)
			if (first+i)%2 == 0 { // a grammar allows two tokens of five
				pick.Mask = slices.Repeat([]uint32{0x21084210 << (i % 5)}, plan.MaskWords(vocab))
				best = sample.Picked(&pick, own)
			}
			asked, want = append(asked, pick), append(want, best)
		}
		got, err := gpu.Pick(rows, asked)
		if err != nil {
			return fmt.Errorf("error: %w", err)
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("picks: after %d rows %d; expected %d", len(rows), got, want)
		}
	}
	return nil
}
