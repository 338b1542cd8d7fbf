package main

import (
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
	"mla/runtime/plan"
)

const (
	// leastProfile is how long one measurement of a stage lasts at least.
	leastProfile = 5 * time.Millisecond
	// leastStage and leastToken are the gains that count: of a stage that is timed by
	// itself, and of a whole token, of which a stage is a part.
	leastStage = 0.02
	leastToken = 0.002
	// tokens are run for one time of a whole token; the median counts.
	tokens = 15
	// wholeToken is the name of the one stage of devices that time no others.
	wholeToken = "a token"
)

// tuneBench implements tune.Measurer on a device.
type tuneBench struct {
	*tuneFlags
	device device.Device
	rigs   []*rig
	knobs  []tune.Knob
	least  float64
	ready  []*trial // of the last choice
	choice []int

	measured int // how often Measure was called
}

// trial is a rig that is ready to be measured with one choice.
type trial struct {
	engine  *engine.Engine
	session *engine.Session
	stages  map[string]string // by function, the kernel's name in the spec's tuning
}

// bench opens the device and writes the models that have no file into dir.
func (t *tuneFlags) bench(rigs []*rig, knobs []tune.Knob, dir string) (*tuneBench, error) {
	m := &tuneBench{tuneFlags: t, rigs: rigs, knobs: slices.Clone(knobs), least: leastStage}
	var err error
	if m.device, err = t.open(dir); err != nil {
		return nil, err
	}
	for i, r := range rigs {
		if err := r.make(dir, i); err != nil {
			return nil, err
		}
	}
	if t.device == "metal" {
		m.least = leastToken
		for i := range m.knobs {
			m.knobs[i].Stages = []string{wholeToken}
		}
	}
	return m, nil
}

// open opens the device; temporary files may go to dir.
func (t *tuneFlags) open(dir string) (device.Device, error) {
	if t.device == "metal" {
		d, err := metal.Open(metal.Options{Library: t.metalLib})
		if err != nil {
			return nil, err // not a *metal.Device that is nil
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

// Measure implements tune.Measurer. Times of several models and depths are added up.
func (m *tuneBench) Measure(choice []int) (map[string]float64, error) {
	m.measured++
	if m.ready == nil || !slices.Equal(choice, m.choice) {
		if err := m.prepare(choice); err != nil {
			return nil, errors.Join(err, m.Close())
		}
	}
	sum := map[string]float64{}
	for _, t := range m.ready {
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

// prepare makes all rigs ready with a choice.
func (m *tuneBench) prepare(choice []int) error {
	if err := m.Close(); err != nil {
		return err
	}
	for _, r := range m.rigs {
		b, kernels, err := tune.Trial(r.spec, tune.Tuning(r.spec.Tuning, m.knobs, choice))
		if err != nil {
			return err
		}
		t := &trial{stages: map[string]string{}}
		for i, d := range b.Decode {
			for _, v := range b.Kernels[d.Kernel].Variants {
				t.stages[v.Func] = kernels[i]
			}
		}
		m.ready = append(m.ready, t)
		if t.engine, err = engine.Open(r.path, engine.Options{Bundles: []*plan.Bundle{b}, Bundle: b.Name, Device: m.device}); err != nil {
			return err
		}
		if t.session, err = t.engine.NewSession(device.Config{Context: slices.Max(m.depths) + tokens, KV: cacheType}); err != nil {
			return err
		}
	}
	m.choice = slices.Clone(choice)
	return nil
}

// Close forgets what is ready.
func (m *tuneBench) Close() (err error) {
	for _, t := range m.ready {
		if t.session != nil {
			err = errors.Join(err, t.session.Close())
		}
		if t.engine != nil {
			err = errors.Join(err, t.engine.Close())
		}
	}
	m.ready = nil
	return err
}

// times are the times of stages at a depth.
func (m *tuneBench) times(t *trial, depth int) (map[string]float64, error) {
	p, ok := t.session.Profiler()
	if !ok {
		once, err := t.token(depth)
		return map[string]float64{wholeToken: once.Seconds()}, err
	}
	stages, err := p.Profile(&device.Profiling{Rows: depth + 1, Least: leastProfile, Wanted: func(functions []string) bool {
		return slices.ContainsFunc(m.knobs, func(k tune.Knob) bool { return slices.Contains(k.Stages, t.stage(functions)) })
	}})
	if err != nil {
		return nil, err
	}
	sum, count := map[string]float64{}, map[string]int{}
	for _, s := range stages { // of one name, layers may have matrices of other types
		name := t.stage(s.Functions)
		sum[name] += float64(s.Count) * s.Time.Seconds()
		count[name] += s.Count
	}
	for name := range sum {
		sum[name] /= float64(count[name])
	}
	return sum, nil
}

// stage is the name of the stage that some functions make up.
func (t *trial) stage(functions []string) string {
	var kernels []string
	for _, f := range functions {
		kernels = append(kernels, t.stages[f])
	}
	return tune.StageName(kernels)
}

// token is the median time of some tokens at a depth, each waited for.
func (t *trial) token(depth int) (time.Duration, error) {
	if err := t.session.Pretend(make([]int32, depth)); err != nil {
		return 0, err
	}
	var times []time.Duration
	for i := range tokens {
		start := time.Now()
		if err := t.session.Append(int32(i)); err != nil {
			return 0, fmt.Errorf("measure a token: %w", err)
		}
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}
