package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"mla/gen/tune"
	"mla/runtime/device"
	"mla/runtime/device/cuda"
	"mla/runtime/device/metal"
	"mla/runtime/engine"
	"mla/runtime/engine/opening"
	"mla/runtime/plan"
)

const (
	// leastProfile is the minimum duration of one measurement of a stage.
	leastProfile = 5 * time.Millisecond
	// leastStage and leastToken are the smallest relative gains that count as faster: of a stage timed by
	// itself, and of a whole token. A stage is only a part of a token, so the second is smaller.
	leastStage = 0.02
	leastToken = 0.002
	// The time per token is the median over prompts of that number of tokens. The tokens of a prompt do not
	// wait for each other, so the times contain no delays of the host.
	prompts = 5
	tokens  = 96
	// wholeToken is the name of the only stage, on a device that cannot time single dispatches.
	wholeToken = "a token"
)

// tuneBench implements tune.Measurer on a device.
type tuneBench struct {
	*tuneFlags
	ctx    context.Context // once it is done, Measure returns its error
	device device.Device
	rigs   []*rig
	knobs  []tune.Knob
	least  float64
	ready  []*choiceReady // the last two choices: the search alternates between two

	measured int // calls of Measure
}

// choiceReady is a choice for which all rigs are compiled and loaded.
type choiceReady struct {
	choice []int
	trials []*trial
}

// trial is a rig that is compiled and loaded for one choice.
type trial struct {
	engine  *engine.Engine
	model   *engine.Model
	session *engine.Session
	stages  map[string]string // the kernel's name in the spec's tuning, by function
}

// bench opens the device, and writes random models into dir for rigs without a model file.
func (t *tuneFlags) bench(ctx context.Context, rigs []*rig, knobs []tune.Knob, dir string) (*tuneBench, error) {
	m := &tuneBench{tuneFlags: t, ctx: ctx, rigs: rigs, knobs: slices.Clone(knobs), least: leastStage}
	var err error
	if m.device, err = t.open(dir); err != nil {
		return nil, err
	}
	for i, r := range rigs {
		if err := r.make(ctx, dir, i); err != nil {
			return nil, err
		}
	}
	if t.by == byToken {
		m.least = leastToken
		for i := range m.knobs {
			m.knobs[i].Stages = []string{wholeToken}
		}
	}
	return m, nil
}

// open opens the device. dir is a folder for temporary files.
func (t *tuneFlags) open(dir string) (device.Device, error) {
	if t.device == "metal" {
		d, err := metal.Open(metal.Options{Library: t.metalLib})
		if err != nil {
			return nil, err // d would be an interface with a nil pointer, which is not nil
		}
		return d, nil
	}
	folder := t.cache
	if folder == "" {
		folder = filepath.Join(dir, "kernels")
	}
	c, err := newKernelCache(folder)
	if err != nil {
		return nil, err
	}
	d, err := cuda.Open(cuda.Options{Library: t.cudaLib, PTX: c.bundle})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Measure implements tune.Measurer. Times are summed over models and depths.
func (m *tuneBench) Measure(choice []int) (map[string]float64, error) {
	if err := m.ctx.Err(); err != nil {
		return nil, err
	}
	m.measured++
	r, err := m.prepare(choice)
	if err != nil {
		return nil, err
	}
	sum := map[string]float64{}
	for _, t := range r.trials {
		for _, depth := range m.depths {
			times, err := m.times(t, depth)
			if err != nil {
				return nil, err
			}
			for stage, time := range times {
				sum[stage] += time
			}
		}
	}
	return sum, nil
}

// prepare compiles and loads all rigs for a choice, unless the choice is among the last two.
func (m *tuneBench) prepare(choice []int) (*choiceReady, error) {
	at := slices.IndexFunc(m.ready, func(r *choiceReady) bool { return slices.Equal(r.choice, choice) })
	if at >= 0 {
		return m.ready[at], nil
	}
	if len(m.ready) == 2 {
		oldest := m.ready[0]
		m.ready = m.ready[1:]
		if err := oldest.close(); err != nil {
			return nil, err
		}
	}
	r := &choiceReady{choice: slices.Clone(choice)}
	for _, rig := range m.rigs {
		t, err := m.trial(rig, choice)
		if err != nil {
			return nil, errors.Join(err, r.close())
		}
		r.trials = append(r.trials, t)
	}
	m.ready = append(m.ready, r)
	return r, nil
}

// trial compiles and loads one rig for a choice.
func (m *tuneBench) trial(r *rig, choice []int) (*trial, error) {
	b, kernels, err := tune.Trial(r.spec, tune.Tuning(r.spec.Tuning, m.knobs, choice))
	if err != nil {
		return nil, err
	}
	t := &trial{stages: map[string]string{}}
	for i, d := range b.Decode().Dispatches {
		for _, v := range b.Kernels[d.Kernel].Variants {
			t.stages[v.Func] = kernels[i]
		}
	}
	if t.engine, err = opening.On(r.path, []*plan.Bundle{b}, b.Name, m.device); err != nil {
		return nil, err
	}
	length := min(slices.Max(m.depths)+tokens, t.engine.MaxContext())
	if t.model, err = t.engine.Load(device.Config{Context: length, KV: cacheType}); err != nil {
		return nil, errors.Join(err, t.engine.Close())
	}
	if t.session, err = t.model.NewPrivateSession(); err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, nil
}

func (t *trial) close() error { return errors.Join(t.model.Close(), t.engine.Close()) }

func (r *choiceReady) close() (err error) {
	for _, t := range r.trials {
		err = errors.Join(err, t.close())
	}
	return err
}

// Close frees all loaded models.
func (m *tuneBench) Close() (err error) {
	for _, r := range m.ready {
		err = errors.Join(err, r.close())
	}
	m.ready = nil
	return err
}

// times returns the seconds of each stage at a depth of the cache, in tokens.
func (m *tuneBench) times(t *trial, depth int) (map[string]float64, error) {
	if m.by == byToken {
		once, err := t.token(depth)
		return map[string]float64{wholeToken: once.Seconds()}, err
	}
	p, err := t.model.Profiler()
	if err != nil {
		return nil, err
	}
	if p == nil {
		return nil, fmt.Errorf("%s cannot time single stages; -by token can be measured", m.device.Name())
	}
	stages, err := p.Profile(&device.Profiling{Rows: depth + 1, Least: leastProfile, Wanted: func(functions []string) bool {
		return slices.ContainsFunc(m.knobs, func(k tune.Knob) bool { return slices.Contains(k.Stages, t.stage(functions)) })
	}})
	if err != nil {
		return nil, err
	}
	sum, count := map[string]float64{}, map[string]int{}
	for _, s := range stages { // stages of one name occur several times if the quant types of their matrices differ by layer
		name := t.stage(s.Functions)
		sum[name] += float64(s.Count) * s.Time.Seconds()
		count[name] += s.Count
	}
	for name := range sum {
		sum[name] /= float64(count[name])
	}
	return sum, nil
}

// stage returns the name of the stage that consists of some functions.
func (t *trial) stage(functions []string) string {
	var kernels []string
	for _, f := range functions {
		kernels = append(kernels, t.stages[f])
	}
	return tune.StageName(kernels)
}

// token returns the time per token of a prompt that follows depth tokens. The output head is left out: a
// prompt needs it only once.
func (t *trial) token(depth int) (time.Duration, error) {
	list := make([]int32, min(depth+tokens, t.session.Context()))
	depth = min(depth, len(list)-1)
	var times []time.Duration
	for range prompts {
		if err := t.session.FillForBench(list[:depth]); err != nil {
			return 0, err
		}
		start := time.Now()
		if err := t.session.Sync(context.Background(), list, nil); err != nil {
			return 0, fmt.Errorf("measure tokens: %w", err)
		}
		times = append(times, time.Since(start)/time.Duration(len(list)-depth))
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}
