package scheduler

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"mla/runtime/device"
	"mla/runtime/doctor/fake"
	"mla/runtime/engine"
	"mla/runtime/plan"
	"mla/runtime/text/sample"
	"mla/tools/tests/deep"
)

const vocab = 12

// hashed computes logits that depend on the whole text, so that no other text or row has the same.
func hashed(_ plan.Row, hash uint64, out []float32) {
	rng := rand.New(rand.NewPCG(hash, 1))
	for i := range out {
		out[i] = float32(rng.NormFloat64())
	}
}

func newModel(t testing.TB, cfg device.Config) (*engine.Model, *fake.Runner) {
	t.Helper()
	return newFolding(t, cfg, false)
}

// newFolding returns a model whose sessions have states if folds is set.
func newFolding(t testing.TB, cfg device.Config, folds bool) (*engine.Model, *fake.Runner) {
	t.Helper()
	r := fake.New(vocab, cfg)
	r.Logits, r.Folds = hashed, folds
	m, err := engine.NewModel(r, vocab, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m, r
}

// client is a request with its result.
type client struct {
	prompt    []int32
	params    sample.Params
	max       int
	stop      int32 // the token that ends the text
	cancelAt  int   // token; 0: never
	submitAt  int   // step
	onHost    bool  // picks itself, whatever the device could
	drafts    bool
	folds     bool // the model has states
	cancelled bool

	emitted []int32
	ended   int
	result  engine.Result
	err     error
}

func (c *client) request(t testing.TB) engine.Request {
	sampler, err := sample.New(c.params)
	if err != nil {
		t.Fatal(err)
	}
	var picks engine.Sampler = sampler
	if c.onHost {
		picks = struct{ engine.Sampler }{sampler}
	}
	return engine.Request{Prompt: c.prompt, Max: c.max, Sampler: picks, Stop: func(id int32) bool { return id == c.stop }}
}

// alone returns the result that the client gets from a model of its own.
func (c *client) alone(t testing.TB, context_ int) (engine.Result, error) {
	m, _ := newFolding(t, device.Config{Context: context_}, c.folds)
	s, err := m.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	return s.Generate(context.Background(), c.request(t), func(int32) bool { return true })
}

// drafter returns a Drafter that guesses the client's text with some mistakes; nil for a client that does not
// draft.
func (c *client) drafter(t testing.TB, context_ int) func(*engine.Session) (engine.Drafter, error) {
	if !c.drafts {
		return nil
	}
	want, _ := c.alone(t, context_)
	return func(*engine.Session) (engine.Drafter, error) {
		return &guesser{slices.Concat(c.prompt, want.Tokens), rand.New(rand.NewPCG(c.params.Seed, 0))}, nil
	}
}

type guesser struct {
	text []int32
	rng  *rand.Rand
}

func (*guesser) Textual() {}

func (g *guesser) Propose(text []int32, n int) (out []int32) {
	for n = g.rng.IntN(n + 2); len(out) < n && len(text)+len(out) < len(g.text); {
		out = append(out, g.text[len(text)+len(out)])
	}
	if len(out) > 0 && g.rng.IntN(3) == 0 {
		out[g.rng.IntN(len(out))] = g.rng.Int32N(vocab + 2)
	}
	return out
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

func (c *client) submit(t testing.TB, s *Scheduler) {
	ctx, cancel := context.WithCancel(context.Background())
	r := c.request(t)
	err := s.Submit(ctx, Request{
		Continuation: Continuation{
			Prompt: r.Prompt,
			Max:    r.Max,
			Stop:   r.Stop,
			Done: func(res engine.Result, err error) {
				cancel()
				c.ended++
				c.result, c.err = res, err
			},
		},
		Sampler: r.Sampler,
		Draft:   c.drafter(t, s.model.Context()),
		Emit: func(id int32) bool {
			if c.emitted = append(c.emitted, id); len(c.emitted) == c.cancelAt {
				c.cancelled = true
				cancel()
			}
			return true
		},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// check compares the client's result with its result alone.
func (c *client) check(t testing.TB, cfg device.Config) error {
	want, wantErr := c.alone(t, cfg.Context)
	got := c.result
	if c.ended != 1 || !slices.Equal(c.emitted, got.Tokens) {
		return fmt.Errorf("ended %d times; emitted %d, result %d", c.ended, c.emitted, got.Tokens)
	}
	var out *engine.OutOfPages
	switch {
	case c.err != nil && c.cancelled && errors.Is(c.err, context.Canceled):
		if got.Reason != engine.ReasonCancel || len(got.Tokens) != c.cancelAt {
			return fmt.Errorf("cancelled: %+v", got)
		}
	case errors.As(c.err, &out):
		if need := plan.Pages(len(c.prompt) + len(got.Tokens)); need <= cfg.Pages || got.Reason != engine.ReasonError {
			return fmt.Errorf("%w, but %d pages would do, of %d", c.err, need, cfg.Pages)
		}
	case c.err != nil || wantErr != nil || got.Reason != want.Reason || len(got.Tokens) != len(want.Tokens) || got.Decode.Tokens != want.Decode.Tokens:
		return fmt.Errorf("%+v, %v; alone %+v, %v", got, c.err, want, wantErr)
	}
	if len(got.Tokens) > len(want.Tokens) || !slices.Equal(got.Tokens, want.Tokens[:len(got.Tokens)]) {
		return fmt.Errorf("tokens %d; alone %d", got.Tokens, want.Tokens)
	}
	return nil
}

// counts has the number of events of each kind over all schedules.
type counts struct{ cancelled, outOfPages, gaveBack, reused, waited, picked, onHost, drafted, accepted, ahead, batched, states int }

// some reports whether schedules have done each thing at least n times. What is rare depends on the seeds, so
// testSchedules goes on until they have.
func (c *counts) some(n int, folds bool) bool {
	list := []int{c.cancelled, c.outOfPages, c.gaveBack, c.reused, c.waited, c.picked, c.onHost, c.accepted, c.drafted - c.accepted, c.ahead, c.batched}
	if folds {
		list = append(list, c.states)
	}
	return slices.Min(list) >= n
}

// randomPrompt returns a prompt that often begins like the prompt of another client.
func randomPrompt(rng *rand.Rand, others []*client) []int32 {
	var out []int32
	if len(others) > 0 && rng.IntN(3) > 0 {
		o := others[rng.IntN(len(others))].prompt
		out = slices.Clone(o[:rng.IntN(len(o)+1)])
	}
	for range rng.IntN(3) {
		out = append(out, slices.Repeat([]int32{rng.Int32N(2)}, []int{1, 3, 32, 64, 65}[rng.IntN(5)])...)
	}
	return append(out, rng.Int32N(vocab))[:min(len(out)+1, 256)]
}

// schedule runs random requests that join at random steps.
func schedule(t testing.TB, seed uint64, folds bool, total *counts) error {
	rng := rand.New(rand.NewPCG(seed, 0))
	cfg := device.Config{Context: 256, Tables: 1 + rng.IntN(4), Pages: 1 + rng.IntN(8), Width: []int{1, 1, 2, 3, 8, 16}[rng.IntN(6)]}
	if folds { // none, less than one state, one, a few, as many as there are by itself
		cfg.CacheRAM = []int64{-1, 1, 8, 30, 0, 0}[rng.IntN(6)]
	}
	m, runner := newFolding(t, cfg, folds)
	runner.NoPicks = rng.IntN(3) == 0
	s, err := New(m, Config{PromptRows: 1 + rng.IntN(20), Ahead: rng.IntN(4)})
	if err != nil {
		return err
	}
	plain := rng.IntN(2) == 0
	var clients []*client
	for range 1 + rng.IntN(7) {
		c := &client{prompt: randomPrompt(rng, clients), params: sample.Off(), max: rng.IntN(60) - 1, stop: vocab - 1 - rng.Int32N(2)*vocab, submitAt: rng.IntN(200)}
		c.params.Temperature, c.params.Seed, c.params.RepeatPenalty = float32(rng.IntN(3)), rng.Uint64(), 1+float32(rng.IntN(2))/8
		c.params.FrequencyPenalty = float32(rng.IntN(3)) / 2
		c.params.RepeatLastN, c.onHost = []int{-1, 3, 64}[rng.IntN(3)], rng.IntN(4) == 0
		if plain { // what is picked depends on nothing but the logits
			c.params.RepeatPenalty, c.params.FrequencyPenalty, c.onHost = 1, 0, false
		} else if rng.IntN(2) == 0 {
			stepwise(&c.params, rng, c.stop)
		}
		c.drafts, c.folds = rng.IntN(2) == 0, folds
		if rng.IntN(5) == 0 {
			c.cancelAt = 1 + rng.IntN(20)
		}
		clients = append(clients, c)
	}
	idle := 0
	for step := 0; ; step++ {
		if step > 20000 {
			return errors.New("no end")
		}
		last := true
		for _, c := range clients {
			if c.submitAt == step {
				c.submit(t, s)
			}
			last = last && c.submitAt <= step
		}
		before, ahead := runner.Replays-runner.Ahead, runner.Ahead
		more, err := s.Step()
		if err != nil {
			return err
		}
		if asked := runner.Ahead - ahead; len(s.ahead.tasks) > 1 {
			total.batched += asked
		} else {
			total.ahead += asked
		}
		if ran := runner.Replays - runner.Ahead - before; ran > 1 && !folds {
			return fmt.Errorf("%d replays in a step of at most %d rows", ran, s.width)
		} else if ran == 0 && more && s.ahead.Ahead == nil {
			if idle++; idle > 100 {
				return errors.New("steps without rows")
			}
		}
		if s.hold {
			total.gaveBack++
		}
		if len(s.waiting) > 0 {
			total.waited++
		}
		if !more && last {
			break
		}
	}
	for i, c := range clients {
		if err := c.check(t, cfg); err != nil {
			return fmt.Errorf("client %d of %d, a prompt of %d, %+v, at most %d rows of prompts: %w", i, len(clients), len(c.prompt), cfg, s.promptRows, err)
		}
		var out *engine.OutOfPages
		if c.cancelled {
			total.cancelled++
		}
		if errors.As(c.err, &out) {
			total.outOfPages++
		}
		total.reused += c.result.Reused
		total.drafted, total.accepted = total.drafted+c.result.Drafted, total.accepted+c.result.Accepted
	}
	states, _ := m.States()
	total.states += states
	total.picked += runner.Picked
	total.onHost += runner.OnHost
	if got := m.Pages(); got.InUse != 0 {
		return fmt.Errorf("%d pages are still in use", got.InUse)
	}
	for range cfg.Tables { // and no session is lost
		if _, err := m.NewSession(); err != nil {
			return err
		}
	}
	return nil
}

var seed = flag.Uint64("seed", 0, "the seed of TestSchedules' first schedule (default: of this moment)")

// TestSchedules checks random schedules against requests that run alone. Each schedule has its own seed,
// which a failure prints for -seed.
func TestSchedules(t *testing.T) {
	schedules, first := 4000, *seed
	if !deep.On {
		schedules = 300
	}
	testSchedules(t, schedules, first, false)
}

// TestFoldingSchedules is TestSchedules for a model whose sessions have states. It checks the state of a text
// that continues after pages of other texts or after wrong guesses.
func TestFoldingSchedules(t *testing.T) {
	schedules, first := 4000, *seed
	if !deep.On {
		schedules = 100
	}
	testSchedules(t, schedules, first, true)
}

func testSchedules(t *testing.T, schedules int, first uint64, folds bool) {
	if first == 0 {
		first = uint64(time.Now().UnixNano())
	}
	t.Logf("seeds from %d", first)
	var total counts
	for i := 0; i < schedules || !total.some(schedules/50, folds); i++ {
		if i == 10*schedules {
			t.Fatalf("%d schedules do too little of something: %+v", i, total)
		}
		if err := schedule(t, first+uint64(i), folds, &total); err != nil {
			t.Fatalf("seed %d: %v", first+uint64(i), err)
		}
	}
	t.Logf("%+v", total)
}
