package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"mla/runtime/doctor/checkup"
	"mla/runtime/engine"
	"mla/runtime/plan"
	"mla/runtime/text/sample"
)

// shippedModel is the path of the small model in a checkout.
const shippedModel = "testdata/tinyglm.gguf"

// idle is how long the device rests before one more token is timed: longer than systems wait before they
// release memory.
const idle = 3 * time.Second

// sameTokens is how many tokens are compared with the CPU device's. Later tokens may differ where two logits
// are almost equal, as sums are computed in another order.
const sameTokens = 16

// modelFile returns the model of -model, or the shipped model if there is a checkout: in or above the working
// folder, or above the program.
func (f *doctorFlags) modelFile() (string, error) {
	if f.model != "" {
		return f.model, nil
	}
	folders := []string{"."}
	if wd, err := os.Getwd(); err == nil {
		folders = append(folders, wd)
	}
	if exe, err := os.Executable(); err == nil {
		folders = append(folders, filepath.Dir(exe))
	}
	for _, folder := range folders {
		for {
			path := filepath.Join(folder, filepath.FromSlash(shippedModel))
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				return path, nil
			}
			parent := filepath.Dir(folder)
			if parent == folder {
				break
			}
			folder = parent
		}
	}
	return "", fmt.Errorf("there is no model: -model FILE names one; a checkout has %s", shippedModel)
}

// modelFile returns the path of the model file of the command line, or of the shipped model. It is an error if
// the device has no kernels for the shipped model.
func (x *examination) modelFile() (string, error) {
	path, err := x.flags.modelFile()
	if err != nil || x.flags.model != "" || x.Patient.Runs == nil {
		return path, err
	}
	c, err := x.needs(path)
	if err != nil {
		return "", err
	}
	return path, x.Patient.Runs(c.bundle)
}

// tokens generates tokens with a model, and measures speed and memory.
func (x *examination) tokens() (err error) {
	path, err := x.modelFile()
	if err != nil {
		x.Write(checkup.Skip, x.Stage.Name, "%v", err)
		return nil
	}
	f := *x.flags.flags
	f.model, f.device, f.quiet = path, x.Patient.Kind, true
	start := time.Now()
	x.Write(checkup.Now, "load "+filepath.Base(path), "")
	m, err := f.load(func(most int) int { return min(2+x.flags.tokens+3, most) })
	if errors.Is(err, errors.ErrUnsupported) {
		x.Write(checkup.Skip, x.Stage.Name, "not able: %v", err)
		return nil
	}
	if err != nil {
		return err
	}
	defer closing(m, &err)
	x.Write(checkup.Fact, "model", "%s, bundle %s (%s), %d dispatches a token", filepath.Base(path), m.engine.Bundle().Name, m.engine.Bundle().Kind(), m.model.Dispatches())
	x.Write(checkup.Fact, "load", "%.2f s", time.Since(start).Seconds())
	ids, err := x.generate(m)
	if err != nil {
		return err
	}
	if err := x.memory(m); err != nil {
		return err
	}
	if err := x.idle(m, ids); err != nil {
		return err
	}
	if x.Patient.Kind == "cpu" {
		return nil
	}
	return x.likeCPU(f, ids)
}

// beginning returns the first tokens of a model's text. Any token will do.
func beginning(m *loaded) []int32 {
	vocab := int32(m.engine.Bundle().Model.VocabSize)
	return []int32{1 % vocab, 8 % vocab}
}

// generate generates the most likely tokens, and writes the speed.
func (x *examination) generate(m *loaded) ([]int32, error) {
	n := min(x.flags.tokens, m.Context()-len(beginning(m)))
	x.Write(checkup.Now, fmt.Sprintf("%d tokens", n), "")
	res, err := m.likely(beginning(m), n)
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf("%.2f tok/s over %d tokens", res.Decode.PerSecond(), res.Decode.Tokens)
	if res.Decode.GPU > 0 {
		text += ", of which " + shares(res.Decode) + " per token"
	}
	x.Write(checkup.Fact, "speed", "%s", text)
	if len(res.Tokens) != n {
		x.Write(checkup.Fail, x.Stage.Name, "%d tokens of %d", len(res.Tokens), n)
		return res.Tokens, nil
	}
	x.Write(checkup.Pass, x.Stage.Name, "%d tokens", n)
	return res.Tokens, nil
}

// likely continues a text with the n most likely tokens.
func (l *loaded) likely(text []int32, n int) (engine.Result, error) {
	sampler, err := sample.New(sample.Off())
	if err != nil {
		return engine.Result{}, err
	}
	return l.Generate(context.Background(), engine.Request{Prompt: text, Max: n, Sampler: sampler, Ahead: l.flags.ahead}, func(int32) bool { return true })
}

// memory writes the memory that the model needs, and the memory that this process has used.
func (x *examination) memory(m *loaded) error {
	cfg, err := m.flags.configFor(m.engine, capacity{context: m.Context()})
	if err != nil {
		return err
	}
	estimate, err := m.engine.Estimate(cfg)
	if err != nil {
		return err
	}
	x.Write(checkup.Fact, "memory", "%s estimated; %s at most in this process", estimate, engine.Size(peakMemory()))
	return nil
}

// idle compares the time of a token after a pause with that of a token without a pause, and measures the
// process's processor time during the pause.
func (x *examination) idle(m *loaded, ids []int32) error {
	if len(ids) == 0 || m.Context()-len(m.Tokens()) < 3 {
		return nil
	}
	x.Write(checkup.Now, "a token after a pause", "")
	var took [3]time.Duration
	var busy time.Duration
	for i := range took {
		if i == len(took)-1 {
			before := processorTime()
			time.Sleep(idle)
			busy = processorTime() - before
		}
		start := time.Now()
		if err := m.Append(ids[i%len(ids)]); err != nil {
			return err
		}
		took[i] = time.Since(start)
	}
	ms := func(d time.Duration) float64 { return d.Seconds() * 1e3 }
	x.Write(checkup.Fact, "idle", "a token after %v takes %.2f ms, right after another %.2f ms; %.1f ms of processor time in the pause",
		idle, ms(took[2]), ms(took[1]), ms(busy))
	return nil
}

// likeCPU requires that the first tokens equal the CPU device's. With half activations, which the CPU device
// rounds at other places, a difference is written but is not a failure.
func (x *examination) likeCPU(f flags, ids []int32) (err error) {
	x.Write(checkup.Now, "the same tokens on the CPU", "")
	f.device = "cpu"
	n := min(sameTokens, len(ids))
	m, err := f.load(func(most int) int { return min(2+n, most) })
	if err != nil {
		return err
	}
	defer closing(m, &err)
	res, err := m.likely(beginning(m), n)
	if err != nil {
		return err
	}
	same := 0
	for same < n && same < len(res.Tokens) && res.Tokens[same] == ids[same] {
		same++
	}
	switch {
	case same == n:
		x.Write(checkup.Pass, "tokens of the CPU", "the first %d are equal", n)
	case m.engine.Bundle().Activations == plan.ElemF16:
		x.Write(checkup.Note, "", "the first %d tokens are the CPU's, of %d", same, n)
	default:
		x.Write(checkup.Fail, "tokens of the CPU", "the first %d are equal; then %s, and %s on the CPU", same, formatTokens(ids[same:n]), formatTokens(res.Tokens[min(same, len(res.Tokens)):]))
	}
	return nil
}
