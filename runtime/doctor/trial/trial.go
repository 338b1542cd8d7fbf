// Package trial finds out whether a GPU runs a model as the CPU does, and faster. The trial runs in its own
// process. It compiles the kernels that the file needs, compares them with their Go references at the model's
// shapes, compares the logits of a long prompt and of the tokens after it, and times tokens on both devices.
// The result is a verdict, which is kept.
package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"mla/runtime/device"
	"mla/runtime/doctor/check"
	"mla/runtime/doctor/checkup"
	"mla/runtime/doctor/quality"
	"mla/runtime/doctor/reference"
	"mla/runtime/engine"
	"mla/runtime/load/bind"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// Stage is the doctor's name for a trial.
const Stage = "GPU against CPU"

const (
	promptTokens  = 600 // enough for sequences of 512, of 16 and of one row
	firstTokens   = 32  // the first tokens of the prompt, which measure the CPU's speed
	decodedTokens = 8   // tokens that are compared after the prompt
	timedTokens   = 16
)

// The time limits of a trial on a slow CPU: about a minute in all, including loading. Kernels and tokens
// beyond the limits are not compared.
const (
	KernelTime = 20 * time.Second
	promptTime = 15 * time.Second // of the CPU
	timedTime  = 5 * time.Second  // of the CPU
)

// Usual is about the duration of a trial on a slow machine.
const Usual = time.Minute

// Limit is the time after which a trial is aborted.
const Limit = 2 * time.Minute

// The names of the rows with measurements.
const (
	rowKernels = "kernels"
	rowBundle  = "bundle"
	rowHost    = "why the CPU does not run the model"
	rowGPU     = "tokens a second on the GPU"
	rowCPU     = "tokens a second on the CPU"
)

// Subject is a model on trial.
type Subject struct {
	*checkup.Writer
	Model    *bind.Resolved
	Bundle   *plan.Bundle // the bundle that the GPU runs
	GPU, CPU device.Device
	Config   device.Config // includes the cache's type and the width
	// Launcher prepares the kernels that the file needs. done releases them.
	Launcher  func() (l device.Launcher, done func(), err error)
	Functions []string      // the names of these kernels
	Kernels   time.Duration // how long kernels are compared; 0: KernelTime
}

// Run runs the trial and writes rows. A failed row says why the GPU must not run the model.
func (s *Subject) Run() error {
	if err := s.kernels(); err != nil || s.Failed() > 0 {
		return err
	}
	s.Write(checkup.Now, "loading the model", "")
	gpu, err := s.load(s.GPU)
	if err != nil {
		return err
	}
	defer func() { _ = gpu.Close() }() // the process ends anyway
	host, err := s.load(s.CPU)
	if err != nil { // the failure says nothing about the GPU
		s.Write(checkup.Use, rowHost, "%v", err)
		return nil
	}
	defer func() { _ = host.Close() }()
	return s.tokens(gpu, host)
}

// kernels compares the kernels until the time is up.
func (s *Subject) kernels() error {
	all, err := check.Cases(s.Bundle)
	if err != nil {
		return err
	}
	s.Write(checkup.Now, "compiling kernels", "")
	l, done, err := s.Launcher()
	if err != nil {
		return err
	}
	defer done()
	cases := firstOfEach(slices.DeleteFunc(all, func(c check.Case) bool { return !slices.Contains(s.Functions, c.Variant.Func) }))
	end := time.Now().Add(cmp.Or(s.Kernels, KernelTime))
	n := checkup.Kernels(s.Writer, l, cases, func() bool { return time.Now().After(end) })
	s.Write(checkup.Use, rowKernels, "%d", n)
	s.Write(checkup.Use, rowBundle, "%s", kernelsOf(s.Bundle))
	return nil
}

// firstOfEach puts the first case of each kernel before all second cases, so that a short time covers all
// kernels.
func firstOfEach(cases []check.Case) []check.Case {
	seen := map[string]int{}
	var rounds [][]check.Case
	for _, c := range cases {
		n := seen[c.Variant.Func]
		seen[c.Variant.Func]++
		if n == len(rounds) {
			rounds = append(rounds, nil)
		}
		rounds[n] = append(rounds[n], c)
	}
	return slices.Concat(rounds...)
}

// loaded is the model, loaded on one of the devices.
type loaded struct {
	*engine.Session
	model *engine.Model
}

func (l *loaded) Close() error { return l.model.Close() }

func (s *Subject) load(d device.Device) (*loaded, error) {
	m, err := s.on(d, func(cfg *device.Config, most int) { cfg.Context = min(promptTokens+decodedTokens+timedTokens, most) })
	if err != nil {
		return nil, err
	}
	session, err := m.NewPrivateSession()
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return &loaded{session, m}, nil
}

// on loads the model on a device. size sets the sizes of the configuration, given the greatest context.
func (s *Subject) on(d device.Device, size func(cfg *device.Config, most int)) (*engine.Model, error) {
	e, err := engine.New(s.Model, s.Bundle, d)
	if err != nil {
		return nil, err
	}
	cfg := s.Config
	size(&cfg, e.MaxContext())
	return e.Load(cfg)
}

// tokens compares the logits after a prompt and after the tokens that follow it, and measures times.
func (s *Subject) tokens(gpu, host *loaded) error {
	prompt := s.prompt(min(promptTokens, gpu.Context()-decodedTokens-timedTokens))
	if len(prompt) == 0 {
		s.Write(checkup.Fail, "prompt", "the model has too short a context to be tried")
		return nil
	}
	s.Write(checkup.Now, fmt.Sprintf("a prompt of %d tokens", len(prompt)), "")
	if err := gpu.Sync(context.Background(), prompt, nil); err != nil {
		return err
	}
	n, err := s.ofHost(host, prompt)
	if err != nil {
		return err
	}
	if n < len(prompt) { // the GPU's text is shortened to the same length
		s.Write(checkup.Note, "", "the CPU ran %d tokens of the prompt in the time that it had; the GPU all", n)
		if err := gpu.Sync(context.Background(), prompt[:n], nil); err != nil {
			return err
		}
	}
	c := &comparison{tolerance: tolerance(s.Bundle, s.Config.KV), model: &s.Bundle.Model}
	c.add(gpu.Logits(), host.Logits())
	for i := range decodedTokens {
		s.Write(checkup.Now, fmt.Sprintf("token %d of %d", i+1, decodedTokens), "")
		next := int32(quality.Best(host.Logits()))
		if err := errors.Join(gpu.Append(next), host.Append(next)); err != nil {
			return err
		}
		c.add(gpu.Logits(), host.Logits())
	}
	if wrong := c.wrong(); wrong != "" {
		s.Write(checkup.Fail, rowLogits, "%s", wrong)
		return nil
	}
	s.Write(checkup.Pass, rowLogits, "of a prompt of %d tokens, and of %d after it, differ by at most %.2g of their size", n, decodedTokens, c.worst)
	return s.speeds(gpu, host)
}

// prompt returns n tokens of meaningless text.
func (s *Subject) prompt(n int) []int32 {
	rng := rand.New(rand.NewPCG(1, 2))
	tokens := make([]int32, max(n, 0))
	for i := range tokens {
		tokens[i] = int32(rng.IntN(s.Bundle.Model.VocabSize))
	}
	return tokens
}

// ofHost runs as much of the prompt on the CPU as the time allows, and returns the number of tokens.
func (s *Subject) ofHost(host *loaded, prompt []int32) (int, error) {
	n := min(firstTokens, len(prompt))
	start := time.Now()
	if err := host.Sync(context.Background(), prompt[:n], nil); err != nil {
		return n, err
	}
	each := time.Since(start) / time.Duration(n)
	if left := promptTime - time.Since(start); each > 0 {
		n = min(len(prompt), n+int(max(left, 0)/each))
	}
	return n, host.Sync(context.Background(), prompt[:n], nil)
}

// speeds times tokens on both devices.
func (s *Subject) speeds(gpu, host *loaded) error {
	var rates [2]float64
	for i, l := range []*loaded{gpu, host} {
		limit := []time.Duration{2 * timedTime, timedTime}[i]
		start, n := time.Now(), 0
		for ; n < timedTokens && (n < 2 || time.Since(start) < limit); n++ {
			if err := l.Append(int32(quality.Best(l.Logits()))); err != nil {
				return err
			}
		}
		rates[i] = float64(n) / time.Since(start).Seconds()
		s.Write(checkup.Use, []string{rowGPU, rowCPU}[i], "%.4g", rates[i])
	}
	return nil
}

// tolerance returns the greatest relative difference from the CPU's logits. With floats only the order of
// sums differs: a thousandth at most. Where halves are stored, in the cache or between kernels, a sum at the
// border between two halves becomes one or the other, and later layers amplify the difference: up to 4e-3 in
// small models (reference.CPUTolerance), and more after long prompts. A cache of bytes has borders 16 times
// as far apart, for a few of its numbers.
func tolerance(b *plan.Bundle, kv quant.Type) float64 {
	switch {
	case kv == quant.Q8_0:
		return 3e-2
	case kv == quant.F16 || b.Activations == plan.ElemF16:
		return 1e-2
	}
	return 1e-3
}

// comparison holds the differences of logits at several positions.
type comparison struct {
	tolerance float64
	model     *plan.Model
	rows      int
	rerouted  int     // rows for which other experts may have been chosen
	worst     float64 // the greatest difference of the other rows
	nan       bool
}

// wrongAnyway is the difference that no choice of experts explains. Unrelated logits differ by 1.4.
const wrongAnyway = 0.5

func (c *comparison) add(got, want []float32) {
	d := reference.Difference(got, want)
	c.rows++
	switch {
	case d != d:
		c.nan = true
	case c.model.MoE.NRoutedExperts > 0 && d > c.tolerance && d < wrongAnyway:
		c.rerouted++
	default:
		c.worst = max(c.worst, d)
	}
}

// noNumber is the failure of logits with NaN or infinities, and rowLogits the name of the row that reports
// it.
const (
	noNumber  = "a logit is NaN"
	rowLogits = "logits"
)

// wrong returns what is wrong with the logits; "": nothing. In a model with experts, another choice at a near
// tie moves the logits of a token, and slightly those of later ones. Up to half of the rows may differ for
// this reason.
func (c *comparison) wrong() string {
	switch {
	case c.nan:
		return noNumber
	case c.worst > c.tolerance || 2*c.rerouted > c.rows:
		return fmt.Sprintf("they differ by %.2g of their size, and at %d of %d positions by more than rounding explains; %.2g is allowed", c.worst, c.rerouted, c.rows, c.tolerance)
	}
	return ""
}
