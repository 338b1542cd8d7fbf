package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"mla/runtime/device"
	"mla/runtime/doctor/fake"
	"mla/runtime/engine/payoff"
	"mla/runtime/plan"
	"mla/runtime/text/sample"
)

// guesser proposes the tokens that the text has without guesses, with some mistakes.
type guesser struct {
	rng  *rand.Rand
	text []int32
}

func (g *guesser) Propose(text []int32, n int) []int32 {
	var out []int32
	for len(out) < g.rng.IntN(n+1) && len(text)+len(out) < len(g.text) {
		out = append(out, g.text[len(text)+len(out)])
	}
	if len(out) > 0 && g.rng.IntN(3) == 0 {
		out[g.rng.IntN(len(out))] = g.rng.Int32N(fakeVocab + 2)
	}
	return out
}

// TestDrafts checks that a text with right and wrong guesses is the same as without, and so is the timeline
// after it. It uses all steps of samplers, greedy and with a seed, and ends at a stop, a length and a full
// context.
func TestDrafts(t *testing.T) {
	accepted, drafted, picked := 0, 0, 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 0))
		cfg := device.Config{Context: 20 + rng.IntN(200), Width: []int{2, 3, 8, 16}[rng.IntN(4)]}
		params := sample.Off()
		params.Temperature, params.Seed, params.RepeatPenalty = float32(rng.IntN(2)), rng.Uint64(), 1+float32(rng.IntN(2))/4
		params.RepeatLastN = []int{-1, 2, 64}[rng.IntN(3)]
		onHost := rng.IntN(2) == 0
		stop := rng.Int32N(3 * fakeVocab)
		if rng.IntN(2) == 0 {
			stepwise(&params, rng, stop)
		}
		req := Request{Prompt: []int32{1, 2, rng.Int32N(fakeVocab)}, Max: rng.IntN(150) - 1}
		if stop < fakeVocab {
			req.Stop = func(id int32) bool { return id == stop }
		}
		run := func(draft Drafter) (*Session, Result, error) {
			s, runner := draftSession(t, cfg)
			runner.NoPicks = onHost
			defer func() { picked += runner.Picked }()
			own := req
			own.Sampler, own.Draft = newSampler(t, params), draft
			res, err := s.Generate(context.Background(), own, func(int32) bool { return true })
			return s, res, err
		}
		alone, want, wantErr := run(nil)
		s, got, err := run(&guesser{rng, append(slices.Clone(req.Prompt), want.Tokens...)})
		if (err == nil) != (wantErr == nil) || got.Reason != want.Reason || !slices.Equal(got.Tokens, want.Tokens) || !slices.Equal(s.Tokens(), alone.Tokens()) {
			t.Fatalf("seed %d, %+v: %v %d %s, timeline %d; without guesses %v %d %s, %d", seed, cfg, err, got.Tokens, got.Reason, s.Tokens(), wantErr, want.Tokens, want.Reason, alone.Tokens())
		}
		// What comes next is the same too: the caches hold the text and nothing else.
		if len(s.Tokens()) < cfg.Context {
			for _, one := range []*Session{s, alone} {
				if err := one.Append(1); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(s.Logits(), alone.Logits()) {
				t.Fatalf("seed %d: other logits after the text", seed)
			}
		}
		accepted, drafted = accepted+got.Accepted, drafted+got.Drafted
	}
	if accepted == 0 || accepted >= drafted || picked == 0 {
		t.Errorf("%d of %d guesses were accepted; the device picked %d tokens", accepted, drafted, picked)
	}
}

// stepwise changes the sampling parameters to ones that a device cannot use. Some of them depend on all
// tokens before.
func stepwise(p *sample.Params, rng *rand.Rand, end int32) {
	switch rng.IntN(7) {
	case 0:
		p.Mirostat, p.MirostatTau = 1+rng.IntN(2), 1+2*rng.Float32()
	case 1:
		p.DRYMultiplier, p.DRYBreakers, p.DRYAllowedLength, p.DRYLastN = 2, nil, 1, []int{-1, 20}[rng.IntN(2)]
	case 2:
		p.XTCProbability, p.XTCThreshold = 0.5, 0.05
	case 3:
		p.TypicalP, p.DynatempRange = 0.7, 0.5
	case 4:
		p.TopNSigma, p.Order = 1, []sample.Step{sample.StepTemperature, sample.StepTopNSigma, sample.StepPenalties}
	default: // it can after n tokens
		p.MinTokens, p.Ends = rng.IntN(40), []int32{end}
	}
}

func newSampler(t *testing.T, p sample.Params) Sampler {
	t.Helper()
	s, err := sample.New(p)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// draftSession returns a session whose logits depend on all tokens before.
func draftSession(t *testing.T, cfg device.Config) (*Session, *fake.Runner) {
	t.Helper()
	r := fake.New(fakeVocab, cfg)
	r.Logits = func(_ plan.Row, hash uint64, logits []float32) {
		rng := rand.New(rand.NewPCG(hash, 1))
		for i := range logits {
			logits[i] = 4 * rng.Float32()
		}
	}
	m, err := NewModel(r, fakeVocab, cfg)
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	return s, r
}

// wrong guesses tokens that never come, and counts how often it is asked.
type wrong struct{ asked int }

func (w *wrong) Propose(text []int32, n int) []int32 {
	w.asked++
	return []int32{(text[len(text)-1] + 2) % fakeVocab}
}

// resting returns the state of guesses that rest for a number of tokens. After that a single token takes
// almost no time, so that no guess pays.
func resting(tokens int) (p payoff.Steps) {
	p.Ran(1, 0, 1, time.Nanosecond)
	p.Rest()
	p.Ahead(p.Resting()-tokens, 0)
	return p
}

// TestRests checks that the device picks by itself while guesses rest, and that the text, the tokens that the
// sampler accepted and the rows in the cache are the same as without guesses. The host picks if the rest is
// short or if the device cannot pick.
func TestRests(t *testing.T) {
	for _, tt := range []struct {
		rest, max int
		refuse    bool
		ahead     bool // also after guesses that the clock lets rest again
	}{{20, 40, false, true}, {20, 12, false, true}, {fewResting, 12, false, true}, {fewResting - 1, 9, false, false}, {20, 40, true, false}} {
		cfg := device.Config{Context: 64, Width: 8}
		f := fake.New(fakeVocab, cfg)
		f.NoPicks = tt.refuse
		m, err := NewModel(f, fakeVocab, cfg)
		if err != nil {
			t.Fatal(err)
		}
		s, err := m.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Sync(t.Context(), []int32{1, 2}, nil); err != nil {
			t.Fatal(err)
		}
		sampler, guesses := &portable{}, &wrong{}
		var res Result
		d := &drafted{Session: s, sampler: sampler, drafter: guesses, result: &res, text: 2, ahead: 4, after: []outcome{{logits: s.logits}}, pays: resting(tt.rest)}
		reason, err := s.continueText(t.Context(), Request{Sampler: sampler, Max: tt.max}, &res, d, func(int32) bool { return true })
		if err = errors.Join(err, d.end()); err != nil || reason != ReasonLength {
			t.Fatal(reason, err)
		}
		for i, token := range res.Tokens {
			if token != int32(i+3)%fakeVocab {
				t.Fatalf("%+v: %d", tt, res.Tokens)
			}
		}
		if asked := guesses.asked > 0; f.Ahead > 0 != tt.ahead || asked != (tt.max-1 > tt.rest) || len(sampler.accepted) != tt.max || sampler.draws != tt.max {
			t.Errorf("%+v: %d steps ahead, asked for guesses %d times, %d tokens told of %d drawn", tt, f.Ahead, guesses.asked, len(sampler.accepted), sampler.draws)
		}
		if rows := f.Tokens(uint32(s.table), len(s.Tokens())); !slices.Equal(rows, s.Tokens()) || len(rows) != tt.max+1 {
			t.Errorf("%+v: rows %d for timeline %d", tt, rows, s.Tokens())
		}
	}
}
