package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"mla/runtime/device"
	"mla/runtime/device/linalg"
	"mla/runtime/engine"
	"mla/runtime/plan"
	"mla/runtime/system/buildinfo"
	"mla/runtime/text/sample"
)

// speed is the result of one test: tokens per second over the repetitions.
type speed struct {
	Test  string  `json:"test"`  // pp512: a prompt of 512 tokens; tg128: 128 tokens one by one
	Act   string  `json:"act"`   // activations: f32, f16 or q8
	Depth int     `json:"depth"` // tokens already in the context
	Batch int     `json:"batch"` // concurrent sessions
	TokS  float64 `json:"tok_s"` // mean over the repetitions, of all sessions together
	SD    float64 `json:"sd"`    // sample standard deviation
	// First is the mean time from the prompt to the first token, in seconds, for prompt tests only.
	First float64 `json:"first_s,omitempty"`
	CPU   float64 `json:"cpu_s"` // host's processor time per token, in seconds
	setup
	Peak int64 `json:"peak_bytes"` // the greatest resident memory of the process so far
}

// setup describes the conditions of a measurement.
type setup struct {
	Model    string `json:"model"` // the file's name
	Size     int64  `json:"model_bytes"`
	Bundle   string `json:"bundle"`
	Spec     string `json:"spec_sha256"` // hash of the bundle's spec
	KV       string `json:"kv"`          // type of the cache
	Device   string `json:"device"`
	Threads  int    `json:"threads"`
	Loops    string `json:"cpu_loops"` // the CPU's inner loops
	Ahead    int    `json:"ahead"`     // tokens that the device picks per unit of work
	Version  string `json:"version"`   // version of this program
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// bench measures the speed of prompts and of decoding at several depths.
func bench(e *env, args []string) (err error) {
	f := newFlags(e, "mlarun bench", "-model F [flags]").running()
	sizes := f.String("p", "512", "`tokens` of the prompt tests, separated by commas; 0: none")
	decode := f.Int("n", 128, "tokens of the decoding test; 0: none")
	list := f.String("d", "0", "`depths`: tokens in the context before a test, separated by commas")
	batch := f.String("batch", "1", "`sessions` that decode side by side, in one test after the other, separated by commas")
	repeat := f.Int("r", 3, "repetitions")
	empty := f.Bool("empty", false, "run no tokens for the depths: take the cache rows before a test as they are, which costs no time and changes none")
	kernels := f.Bool("kernels", false, "measure every kind of kernel of a token instead, on devices that can")
	format := f.String("o", "md", "output `format`: "+strings.Join(formatNames(), ", "))
	if stdin, err := f.parseAll(args); err != nil {
		return err
	} else if stdin {
		return f.wrong("unexpected argument %q", "-")
	}
	depths, err := parseDepths(*list)
	batches, wrong := parseDepths(*batch)
	prompts, bad := parseDepths(*sizes)
	print, known := formats[*format]
	switch {
	case err != nil:
		return f.wrong("-d: %v", err)
	case bad != nil:
		return f.wrong("-p: %v", bad)
	case wrong != nil || slices.Min(batches) < 1 || slices.Max(batches) > device.MaxTables:
		return f.wrong("-batch is %q; expected numbers from 1 to %d", *batch, device.MaxTables)
	case !known:
		return f.wrong("-o is %q; expected one of %s", *format, strings.Join(formatNames(), ", "))
	case *decode < 0 || *decode > maxTokens || *repeat < 1:
		return f.wrong("-n must be 0 to %d, -r 1 or more", maxTokens)
	case slices.Max(prompts) == 0 && *decode == 0 && !*kernels:
		return f.wrong("-p and -n are both 0: there is nothing to measure")
	}
	after := max(slices.Max(prompts), *decode, 1)
	if *kernels {
		after = max(f.width, 1) // the rows of a replay
	}
	context := slices.Max(depths) + after
	most := slices.Max(batches)
	m, err := f.loadFor(func(*engine.Engine) (capacity, error) {
		return capacity{context: context, sessions: most, pages: most * plan.Pages(context)}, nil
	})
	if err != nil {
		return err
	}
	defer closing(m, &err)
	if m.Session, err = m.model.NewPrivateSession(); err != nil {
		return err
	}
	f.note("%s\n%s", m.describe(), m.faster())
	if *kernels {
		return m.benchKernels(e, depths, *format)
	}
	results, err := m.measure(depths, batches, prompts, *decode, *repeat, *empty)
	if err != nil {
		return err
	}
	return print(e.out, m.describe(), results)
}

// setup describes the conditions of the measurement.
func (l *loaded) setup() setup {
	b := l.engine.Bundle()
	s := setup{
		Model: filepath.Base(l.flags.model), Size: l.fileBytes(), Bundle: b.Name, Spec: b.SpecHash, KV: l.flags.kv,
		Device: l.engine.Device().Name(), Threads: l.flags.threads, Loops: linalg.Backend(),
		Version: buildinfo.Version(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if s.Threads == 0 {
		s.Threads = runtime.GOMAXPROCS(0)
	}
	if l.model.DevicePicks() {
		s.Ahead = l.flags.ahead
	}
	return s
}

// describe returns the setup in one line.
func (l *loaded) describe() string {
	s := l.setup()
	ahead := ""
	if s.Ahead > 0 {
		ahead = fmt.Sprintf(", %d tokens ahead", s.Ahead)
	}
	return fmt.Sprintf("%s, bundle %s (%s), %s device with %d threads and %s inner loops, %s cache%s",
		s.Model, s.Bundle, l.flags.kindOf(l.engine.Bundle()), s.Device, s.Threads, s.Loops, s.KV, ahead)
}

// faster returns a line that names a flag with which the CPU decodes faster; empty: there is none.
func (l *loaded) faster() string {
	if l.flags.act == actInt8 || l.engine.Device().Name() != "cpu" || !linalg.HasInt8() {
		return ""
	}
	return "decodes faster on this CPU: -act " + actInt8 + ", which rounds activations to bytes, as llama.cpp does\n"
}

// maxTokens exceeds every model's limit, and is small enough for sums.
const maxTokens = 1 << 30

// parseDepths parses a list of non-negative numbers.
func parseDepths(list string) ([]int, error) {
	var out []int
	for _, word := range strings.Split(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < 0 || n > maxTokens {
			return nil, fmt.Errorf("%q is no number from 0 to %d", word, maxTokens)
		}
		out = append(out, n)
	}
	return out, nil
}

// measure runs all tests. The speed does not depend on the contents, so tokens are random, but the same in
// every run.
func (l *loaded) measure(depths, batches, prompts []int, decode, repeat int, empty bool) ([]speed, error) {
	ctx, stop := interruptible()
	defer stop()
	rng := rand.New(rand.NewPCG(1, 2))
	tokens := make([]int32, l.Context())
	for i := range tokens {
		tokens[i] = rng.Int32N(int32(l.engine.Bundle().Model.VocabSize))
	}
	p := l.flags.progress("bench")
	defer p.clear()
	prepare := func(depth int) error {
		if empty {
			return l.FillForBench(tokens[:depth])
		}
		return l.Sync(ctx, tokens[:depth], nil)
	}
	// The first token includes page faults and cold caches.
	if err := l.Sync(ctx, tokens[:1], nil); err != nil {
		return nil, err
	}
	var out []speed
	for _, depth := range depths {
		for _, test := range l.tests(batches, prompts, decode) {
			var samples, firsts []float64
			var busy time.Duration
			for r := range repeat {
				p.show(fmt.Sprintf("%s%d at %d, batch %d, %d/%d", test.name, test.n, depth, test.batch, r+1, repeat))
				if err := prepare(depth); err != nil {
					return nil, err
				}
				before := processorTime()
				took, err := test.run(ctx, depth, tokens[:depth+test.n])
				if err != nil {
					return nil, err
				}
				busy += processorTime() - before
				samples = append(samples, float64(test.batch*test.n)/took.all.Seconds())
				firsts = append(firsts, took.first.Seconds())
			}
			mean, sd := meanSD(samples)
			first, _ := meanSD(firsts)
			out = append(out, speed{Test: test.name + strconv.Itoa(test.n), Act: l.flags.actOf(l.engine.Bundle()), Depth: depth, Batch: test.batch, TokS: mean, SD: sd, First: first, CPU: busy.Seconds() / float64(repeat*test.batch*test.n), setup: l.setup(), Peak: peakMemory()})
		}
	}
	return out, nil
}

// test is one test of a benchmark: n tokens after a depth, in each of batch sessions.
type test struct {
	name     string
	n, batch int
	run      func(ctx context.Context, depth int, tokens []int32) (timed, error)
}

// tests returns the prompt tests and the decoding tests at each batch. Tests of no tokens are left out.
func (l *loaded) tests(batches, prompts []int, decode int) []test {
	var list []test
	for _, n := range prompts {
		if n > 0 {
			list = append(list, test{"pp", n, 1, l.runPrompt})
		}
	}
	for _, n := range batches {
		switch {
		case decode == 0:
		case n == 1:
			list = append(list, test{"tg", decode, 1, l.runDecode})
		default:
			list = append(list, test{"tg", decode, n, func(ctx context.Context, depth int, tokens []int32) (timed, error) {
				return l.runBatch(ctx, n, depth, tokens)
			}})
		}
	}
	return list
}

// timed is the duration of a test: of all its tokens, and up to a prompt's first picked token.
type timed struct{ all, first time.Duration }

// runPrompt runs the tokens after depth as a prompt, and picks one token after them.
func (l *loaded) runPrompt(ctx context.Context, _ int, tokens []int32) (timed, error) {
	res, err := l.greedily(ctx, tokens, 1)
	return timed{res.Prompt.Elapsed, res.FirstToken}, err
}

// greedily generates n of the most likely tokens.
func (l *loaded) greedily(ctx context.Context, prompt []int32, n int) (engine.Result, error) {
	greedy, err := sample.New(sample.Off())
	if err != nil {
		return engine.Result{}, err
	}
	return l.Generate(ctx, engine.Request{Prompt: prompt, Max: n, Sampler: greedy, Ahead: l.flags.ahead}, func(int32) bool { return true })
}

// runDecode generates as many tokens as there are after depth if the device can pick them itself. Otherwise
// it runs the given tokens, so that picking takes no time.
func (l *loaded) runDecode(ctx context.Context, depth int, tokens []int32) (timed, error) {
	start := time.Now()
	if l.flags.ahead > 0 && l.model.DevicePicks() {
		_, err := l.greedily(ctx, tokens[:depth+1], len(tokens)-depth)
		return timed{all: time.Since(start)}, err
	}
	for _, t := range tokens[depth:] {
		if err := ctx.Err(); err != nil {
			return timed{}, err
		}
		if err := l.Append(t); err != nil {
			return timed{}, err
		}
	}
	return timed{all: time.Since(start)}, nil
}

// meanSD returns the mean and the sample standard deviation, which is 0 for one number.
func meanSD(x []float64) (mean, sd float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	if len(x) < 2 {
		return mean, 0
	}
	for _, v := range x {
		sd += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(sd / float64(len(x)-1))
}
