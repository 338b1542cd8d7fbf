package engine

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"mla/runtime/device"
	"mla/runtime/device/fake"
	"mla/runtime/plan"
	"mla/runtime/sample"
)

// guesser proposes what a text alone becomes, with mistakes.
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

// TestDrafts: with guesses, right and wrong, a text is what it is without, and so is the
// timeline behind it; greedy and with a seed, to a stop, a length, and a full context.
func TestDrafts(t *testing.T) {
	accepted, drafted, picked := 0, 0, 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 0))
		cfg := device.Config{Context: 20 + rng.IntN(200), Width: []int{2, 3, 8, 16}[rng.IntN(4)]}
		params := sample.Off()
		params.Temperature, params.Seed, params.RepeatPenalty = float32(rng.IntN(2)), rng.Uint64(), 1+float32(rng.IntN(2))/4
		params.RepeatLastN = []int{-1, 2, 64}[rng.IntN(3)]
		onHost := rng.IntN(2) == 0
		req := Request{Prompt: []int32{1, 2, rng.Int32N(fakeVocab)}, Max: rng.IntN(150) - 1}
		if stop := rng.Int32N(3 * fakeVocab); stop < fakeVocab {
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
				t.Fatalf("seed %d: other logits behind the text", seed)
			}
		}
		accepted, drafted = accepted+got.Accepted, drafted+got.Drafted
	}
	if accepted == 0 || accepted >= drafted || picked == 0 {
		t.Errorf("%d of %d guesses were accepted; the device picked %d tokens", accepted, drafted, picked)
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

// draftSession is a session whose logits depend on all tokens before.
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

// TestPays: guesses rest where their rounds take longer than what they bring.
func TestPays(t *testing.T) {
	for _, tt := range []struct {
		accepted int // a round
		took     time.Duration
		want     bool
	}{{0, 2, false}, {1, 3, false}, {1, 2, true}, {7, 3, true}, {7, 9, false}} {
		p := pays{}
		if p.now() {
			t.Error("guesses before a replay of one row: nobody knows what they cost")
		}
		p.ran(1, 100)
		for range payRounds {
			if !p.now() {
				t.Fatalf("%+v: guesses rest before they were tried", tt)
			}
			p.ran(8, 100*tt.took)
			p.accepted += tt.accepted
		}
		if got := p.now(); got != tt.want {
			t.Errorf("%d guesses a round of %d replays' time: they pay is %t", tt.accepted, tt.took, got)
		}
		if tt.want {
			continue
		}
		for range payRest - 1 {
			p.ran(1, 100)
		}
		if p.now() {
			t.Error("guesses do not rest")
		}
		if p.ran(1, 100); !p.now() {
			t.Error("guesses are not tried again")
		}
	}
}
