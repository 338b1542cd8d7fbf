package sample

import (
	"math"
	"testing"
)

// TestCandidates draws 40,000 tokens in each of several ways, and compares how often each came
// with what Candidates says of it.
func TestCandidates(t *testing.T) {
	logits := []float32{1, 3, 2.5, 0, 2, -1, 2.5}
	with := func(f func(*Params)) Params {
		p := Off()
		p.Temperature, p.Seed = 1, 3
		f(&p)
		return p
	}
	for name, p := range map[string]Params{
		"all":                 with(func(*Params) {}),
		"top-k":               with(func(p *Params) { p.TopK, p.Temperature = 3, 0.7 }),
		"top-p, min-p":        with(func(p *Params) { p.TopP, p.MinP, p.Temperature = 0.9, 0.05, 1.5 }),
		"typical-p":           with(func(p *Params) { p.TypicalP = 0.8 }),
		"xtc":                 with(func(p *Params) { p.XTCProbability, p.XTCThreshold = 1, 0.1 }),
		"bias":                with(func(p *Params) { p.LogitBias = map[int32]float32{1: -100, 3: 2} }),
		"temperature 0":       with(func(p *Params) { p.Temperature = 0 }),
		"greedy, top-n-sigma": with(func(p *Params) { p.Temperature, p.TopNSigma = 0, 1 }),
	} {
		s, err := New(p)
		if err != nil {
			t.Fatal(err)
		}
		const draws = 40_000
		counts := make([]float64, len(logits))
		for range draws {
			counts[s.Next(logits)]++
		}
		id := s.Next(logits)
		picked, list := s.Candidates(id, len(logits))
		sum := 0.0
		for i, c := range list {
			sum += c.P
			// Three times the standard deviation of a count, at most 0.0025 of the draws.
			if got := counts[c.ID] / draws; math.Abs(got-c.P) > 0.0075 {
				t.Errorf("%s: token %d came with a frequency of %.4f; expected %.4f", name, c.ID, got, c.P)
			}
			if counts[c.ID] = 0; c.ID == id && c.P != picked {
				t.Errorf("%s: the token picked has %g and %g", name, picked, c.P)
			}
			if i > 0 && (list[i-1].P < c.P || list[i-1].P == c.P && list[i-1].ID > c.ID) {
				t.Errorf("%s: not the likeliest first: %v", name, list)
			}
		}
		for id, n := range counts {
			if n > 0 {
				t.Errorf("%s: token %d came %g times and is no candidate", name, id, n)
			}
		}
		if math.Abs(sum-1) > 1e-12 || picked == 0 {
			t.Errorf("%s: probabilities add up to %g, the token's own is %g", name, sum, picked)
		}
		if _, two := s.Candidates(id, 2); len(two) != min(2, len(list)) || two[0] != list[0] {
			t.Errorf("%s: the best two of %v are %v", name, list, two)
		}
		if _, none := s.Candidates(id, 0); len(none) != 0 {
			t.Errorf("%s: %v; expected none", name, none)
		}
	}
}
