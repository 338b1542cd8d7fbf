// Command trial runs the Metal runtime once in the simulator and compares the logits. sim/mutate starts it
// with one mistake in the plan, in the Metal source, or in the runtime that it is built from. It is a process
// of its own because the simulator aborts when a rule is broken.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"mla/gen/msl/execute"
	"mla/runtime/device"
	"mla/runtime/device/metal"
	"mla/runtime/quant"
	"mla/sim/mutate/model"
	"mla/sim/mutate/plans"
	"mla/sim/replay"
)

// trial is what the command line asks for.
type trial struct {
	library string // path of the simulator
	file    string // path of a model file without .gguf; .tokens and .logits.npy are beside it
	cache   string // element types of the cache
	replay  string
	tokens  int    // number of tokens to run; 0: the prompt
	plan    string // ID of a mutation of the plan
	source  string // path of Metal source that replaces the bundle's
	deep    bool   // run at the end of a long context that uses all splits of attention
	distant bool   // bind weights beyond 4 GiB
	device  string // sim, checked or sanitized
	pick    bool   // compare picked tokens too
	bits    string // file with the expected bits of the logits; written if it is missing
}

func main() {
	var t trial
	flag.StringVar(&t.library, "lib", "build/libmetalsim.so", "the simulator")
	flag.StringVar(&t.file, "file", "testdata/reference/youtu-tiny-F32", "reference file without .gguf")
	flag.StringVar(&t.cache, "kv", "f32", "types of the cache, one run for each")
	flag.StringVar(&t.replay, "replay", "icb", "icb or encode")
	flag.IntVar(&t.tokens, "tokens", 0, "how many tokens to run; after the prompt's end it is repeated; 0: the prompt")
	flag.StringVar(&t.plan, "plan", "", "mistake in the plan")
	flag.StringVar(&t.source, "source", "", "file with Metal source")
	flag.StringVar(&t.bits, "bits", "", "file of logits to compare with bit for bit; written if missing")
	flag.BoolVar(&t.deep, "deep", false, "tokens in a long context, on device checked or sanitized")
	flag.BoolVar(&t.pick, "pick", false, "compare tokens that the GPU picks with those that the host picks")
	flag.StringVar(&t.device, "device", "sim", "sim: the Metal runtime in the simulator; checked, sanitized: only the kernels, on memory cut to their operands, or with sanitizers")
	flag.BoolVar(&t.distant, "distant", false, "put weights past 4 GiB")
	flag.Parse()
	if err := t.run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (t *trial) run() (err error) {
	m, err := model.Open(t.file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	d, err := t.open()
	if err != nil {
		return fmt.Errorf("refused: %w", err)
	}
	defer func() { err = errors.Join(err, t.finish(d)) }()
	var seen []float32
	for _, name := range strings.Split(t.cache, ",") {
		format, ok := quant.ByName(name)
		if !ok {
			return fmt.Errorf("cache type %q", name)
		}
		run := t.once
		if t.deep {
			run = t.far
		}
		logits, err := run(d, m, format.Type)
		if err != nil {
			return err
		}
		seen = append(seen, logits...)
	}
	if t.bits != "" {
		return sameBits(t.bits, seen)
	}
	return nil
}

// once records and replays with one element type of the cache, and returns all logits.
func (t *trial) once(d device.Device, m *model.Model, kv quant.Type) (all []float32, err error) {
	want, err := t.expect(m, kv)
	if err != nil {
		return nil, err
	}
	bound := m.Bound
	if t.distant {
		if bound, err = distant(bound); err != nil {
			return nil, err
		}
	}
	if err := t.mutate(bound, kv); err != nil {
		return nil, err
	}
	cfg := device.Config{Context: want.context(), KV: kv}
	if t.pick {
		cfg.Width = bound.Bundle.Width()
	}
	r, err := device.LoadSingle(d, bound, cfg)
	if err != nil {
		return nil, fmt.Errorf("refused: %w", err)
	}
	if all, err = want.compare(r, t.device == "sim"); err == nil && t.pick {
		err = picks(r, want.tokens, bound.Bundle.Model.VocabSize)
		if err == nil && cfg.Width > 1 {
			err = picksOfRows(r, want.tokens, bound.Bundle.Model.VocabSize)
		}
	}
	return all, errors.Join(err, r.Close())
}

// far runs tokens at the end of a long context with one element type of the cache.
func (t *trial) far(d device.Device, m *model.Model, kv quant.Type) ([]float32, error) {
	run, err := newDeep(m.Bound, kv)
	if err != nil {
		return nil, err
	}
	if err := t.mutate(m.Bound, kv); err != nil {
		return nil, err
	}
	return run.compare(d, m.Bound)
}

func (t *trial) open() (device.Device, error) {
	switch t.device {
	case "sim":
		return metal.Open(metal.Options{Library: t.library, Replay: metal.Replay(t.replay)})
	case "checked":
		return replay.New(execute.Checked), nil
	case "sanitized":
		return replay.New(execute.Sanitized), nil
	}
	return nil, fmt.Errorf("device %q", t.device)
}

// finish checks that everything was released.
func (t *trial) finish(d device.Device) error {
	if r, ok := d.(*replay.Device); ok {
		return r.Close()
	}
	return leaks(t.library)
}

// mutate makes the mistakes that change data: those in the plan, and distant weights.
func (t *trial) mutate(m *device.Model, kv quant.Type) error {
	if t.source != "" {
		text, err := os.ReadFile(t.source)
		if err != nil {
			return err
		}
		m.Bundle.Source = string(text)
	}
	if t.plan == "" {
		return nil
	}
	for _, p := range plans.List(m, kv) {
		if p.ID == t.plan {
			p.Apply()
			t.plan = "" // the model is changed in place, so once is enough
			return nil
		}
	}
	return fmt.Errorf("no mutation %s", t.plan)
}
