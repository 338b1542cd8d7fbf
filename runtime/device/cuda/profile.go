package cuda

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"mla/runtime/device"
	"mla/runtime/device/cuda/cu"
	"mla/runtime/plan"
)

const (
	// maxStages is the most stages of a measured graph.
	maxStages = 2048
	// maxLaunches is the most launches of a graph for one time.
	maxLaunches = 1000
	// sweep is how many times the size of the L2 cache a graph's stages read at least, if there is enough
	// memory.
	sweep = 4
	// samples is how often a time is measured; the median counts.
	samples = 5
	// copyBytes is the size of the copy that measures the memory bandwidth.
	copyBytes = 1 << 30
)

// kind is the stages of a replay that run the same functions.
type kind struct {
	functions []string
	stages    []int // indices into all stages
}

// kinds lists the kinds of stages in the order of their first occurrence.
func kinds(stages []stage) []*kind {
	var list []*kind
	for i, s := range stages {
		var functions []string
		for j := range s.commands {
			functions = append(functions, s.commands[j].Variant.Func)
		}
		at := slices.IndexFunc(list, func(k *kind) bool { return slices.Equal(k.functions, functions) })
		if at < 0 {
			at = len(list)
			list = append(list, &kind{functions: functions})
		}
		list[at].stages = append(list[at].stages, i)
	}
	return list
}

// profile implements device.Profiler.Profile.
func (r *runner) profile(p *device.Profiling) (list []device.Stage, err error) {
	switch {
	case r.closed:
		return nil, errors.New("the runner is closed")
	case p.Rows < max(p.Width, 1) || p.Rows > r.context:
		return nil, fmt.Errorf("%d cache rows; expected %d to %d", p.Rows, max(p.Width, 1), r.context)
	case p.Width < 0 || p.Width > r.width:
		return nil, fmt.Errorf("%d rows at a time; expected up to %d", p.Width, r.width)
	}
	r.forget()
	err = r.gpu.Do(func() error {
		all, err := r.prepare(p)
		if err != nil {
			return err
		}
		kinds := kinds(all)
		for i, k := range kinds {
			if p.Wanted != nil && !p.Wanted(k.functions) {
				continue
			}
			if p.Progress != nil {
				p.Progress(i, len(kinds))
			}
			s, err := r.measure(all, k, p)
			if err != nil {
				return fmt.Errorf("measure %s: %w", strings.Join(k.functions, ", "), err)
			}
			list = append(list, s)
		}
		return nil
	})
	return list, err
}

// prepare sets the device up for the rows of a replay, whose cache rows are 0, and returns the replay's
// stages.
func (r *runner) prepare(p *device.Profiling) ([]stage, error) {
	if err := r.units.Drain(); err != nil {
		return nil, err
	}
	for _, c := range r.memory.Caches {
		if err := r.stream.Zero(c, r.memory.cache); err != nil {
			return nil, err
		}
	}
	var rows []plan.Row
	for nkv := p.Rows - max(p.Width, 1) + 1; nkv <= p.Rows; nkv++ {
		rows = append(rows, plan.Row{Token: r.tokenAt(nkv - 1), Pos: uint32(nkv - 1), NKV: uint32(nkv)})
		if err := r.tables.Check(rows[len(rows)-1]); err != nil {
			return nil, err
		}
	}
	q := &r.commands.Sequences[r.commands.For(len(rows))]
	if err := r.setRows(0, rows, []int{len(rows) - 1}, q.Width); err != nil {
		return nil, err
	}
	return stages(q.Commands, r.code, &r.memory), r.stream.Wait()
}

// tokenAt is the token of a profile's row. Every row has a different one, so that they select different
// experts as a prompt's rows do.
func (r *runner) tokenAt(position int) uint32 {
	const golden = 2654435761 // 2^32 over the golden ratio: tokens of adjacent rows are far apart
	return uint32(uint64(uint32(position)*golden) * uint64(r.vocab) >> 32)
}

// measure times the stages of a kind, run one after the other.
func (r *runner) measure(all []stage, k *kind, p *device.Profiling) (s device.Stage, err error) {
	s = device.Stage{Functions: k.functions, Count: len(k.stages)}
	var bytes, flops int64
	for _, i := range k.stages {
		for j := range all[i].commands {
			bytes += r.model.Traffic(&all[i].commands[j], r.kv, p.Rows)
			flops += device.Flops(&all[i].commands[j], max(p.Width, 1), p.Rows)
		}
	}
	s.Bytes, s.Flops = bytes/int64(s.Count), flops/int64(s.Count)
	cycle, copies, err := r.cycle(all, k, bytes)
	defer func() { err = errors.Join(err, free(copies)) }()
	if err != nil {
		return s, err
	}
	// Run the stages before the kind's first one, so that the arena holds their results.
	if first := k.stages[0]; first > 0 {
		if err := r.timed(all[:first], 0, func(cu.Exec, time.Duration) error { return nil }); err != nil {
			return s, err
		}
	}
	s.Time, err = r.perStage(cycle, p.Least)
	return s, err
}

// cycle lists the stages of a kind in all layers. All use the arena memory of the first one, but weights and
// caches of their own. If together they read less than sweep times the L2 cache, they are repeated with
// copies of the weights.
func (r *runner) cycle(all []stage, k *kind, bytes int64) (list []stage, copies []cu.Ptr, err error) {
	rounds := int64(1)
	if want := sweep * r.device.L2; bytes > 0 {
		rounds = min((want+bytes-1)/bytes, maxStages/int64(len(k.stages)))
	}
	for round := range max(rounds, 1) {
		for _, i := range k.stages {
			s, more, err := r.repeated(&all[i], &all[k.stages[0]], round > 0)
			copies = append(copies, more...)
			if errors.Is(err, errNoMemory) {
				return list, copies, nil // measure with the stages so far
			}
			if err != nil {
				return nil, copies, err
			}
			list = append(list, s)
		}
	}
	return list, copies, nil
}

// errNoMemory is the error of repeated if a copy does not fit into the free memory.
var errNoMemory = errors.New("no memory for copies of weights")

// repeated returns a stage that uses the arena memory of the first stage of its kind and, if duplicate is
// set, copies of its weights. The caller must free the copies, even after an error.
func (r *runner) repeated(of, first *stage, duplicate bool) (s stage, copies []cu.Ptr, err error) {
	s.commands = of.commands
	for j := range s.commands {
		l := of.launches[j]
		l.Params = slices.Clone(l.Params)
		for slot, b := range s.commands[j].Bindings {
			switch {
			case b.Space == plan.SpaceArena:
				l.Params[slot] = first.launches[j].Params[slot]
			case b.Space == plan.SpaceWeight && duplicate:
				p, err := r.duplicate(l.Params[slot], r.memory.places.length[b.Weight])
				if err != nil {
					return s, copies, err
				}
				if p == 0 {
					return s, copies, errNoMemory
				}
				copies = append(copies, p)
				l.Params[slot] = p
			}
		}
		s.launches = append(s.launches, l)
	}
	return s, copies, nil
}

// duplicate copies device memory. It returns 0 if that would take more than half of the free memory.
func (r *runner) duplicate(p cu.Ptr, bytes int64) (cu.Ptr, error) {
	room, _, err := cu.MemoryInfo()
	if err != nil || uint64(bytes) > room/2 {
		return 0, err
	}
	to, err := cu.Alloc(bytes)
	if err != nil {
		return 0, err
	}
	return to, errors.Join(r.stream.Copy(to, p, bytes), r.stream.Wait())
}

func free(list []cu.Ptr) (err error) {
	for _, p := range list {
		err = errors.Join(err, p.Free())
	}
	return err
}

// perStage repeats a cycle of stages in a graph, and returns the time per stage.
func (r *runner) perStage(cycle []stage, least time.Duration) (per time.Duration, err error) {
	err = r.timed(cycle, 1, func(_ cu.Exec, once time.Duration) error {
		repeat := 1 + int(float64(least)/float64(max(once, time.Nanosecond)))
		repeat = max(1, min(repeat, maxStages/len(cycle)))
		var long []stage
		for range repeat {
			long = append(long, cycle...)
		}
		return r.timed(long, 1, func(graph cu.Exec, once time.Duration) error {
			launches := min(1+int(float64(least)/float64(max(once, time.Nanosecond))), maxLaunches)
			var times []time.Duration
			for range samples {
				t, err := r.elapsed(func() error { return repeated(launches, func() error { return graph.Launch(r.stream) }) })
				if err != nil {
					return err
				}
				times = append(times, t)
			}
			slices.Sort(times)
			per = time.Duration(math.Round(float64(times[samples/2]) / float64(launches*len(long))))
			return nil
		})
	})
	return per, err
}

// timed records stages, runs them warm times and once more, and calls f with the graph and the time of the
// last run.
func (r *runner) timed(stages []stage, warm int, f func(cu.Exec, time.Duration) error) (err error) {
	graph, err := record(stages)
	defer func() { err = errors.Join(err, r.stream.Wait(), graph.Destroy()) }()
	if err != nil {
		return err
	}
	launch := func() error { return graph.Launch(r.stream) }
	if err := repeated(warm, launch); err != nil {
		return err
	}
	once, err := r.elapsed(launch)
	if err != nil {
		return err
	}
	return f(graph, once)
}

func repeated(n int, f func() error) error {
	for range n {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// elapsed is the device's time for the work that f appends to the stream.
func (r *runner) elapsed(f func() error) (time.Duration, error) {
	t := &r.slots[0]
	if err := t.begin.Record(r.stream); err != nil {
		return 0, err
	}
	if err := f(); err != nil {
		return 0, err
	}
	if err := t.end.Record(r.stream); err != nil {
		return 0, err
	}
	if err := t.end.Wait(); err != nil {
		return 0, err
	}
	return t.end.Since(t.begin)
}

// measureCopy implements device.Profiler.CopyBandwidth.
func (r *runner) measureCopy() (rate float64, err error) {
	if r.closed {
		return 0, errors.New("the runner is closed")
	}
	err = r.gpu.Do(func() error {
		rate, err = r.copyBandwidth()
		return err
	})
	return rate, err
}

func (r *runner) copyBandwidth() (rate float64, err error) {
	if err := r.units.Drain(); err != nil {
		return 0, err
	}
	room, _, err := cu.MemoryInfo()
	if err != nil {
		return 0, err
	}
	bytes := int64(min(copyBytes, room/4))
	var memory []cu.Ptr
	defer func() { err = errors.Join(err, r.stream.Wait(), free(memory)) }()
	for range 2 {
		p, err := cu.Alloc(bytes)
		if err != nil {
			return 0, fmt.Errorf("%d bytes to copy: %w", bytes, err)
		}
		memory = append(memory, p)
	}
	if err := r.stream.Zero(memory[0], bytes); err != nil {
		return 0, err
	}
	const copies = 10
	for range samples {
		t, err := r.elapsed(func() error {
			return repeated(copies, func() error { return r.stream.Copy(memory[1], memory[0], bytes) })
		})
		if err != nil {
			return 0, err
		}
		rate = max(rate, 2*float64(bytes)*copies/t.Seconds())
	}
	return rate, nil
}
