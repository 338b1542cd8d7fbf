package tune

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Measurer times stages with one value of each knob, given by index. Measure returns the time of each stage
// in seconds, by name, at least for the stages of the knobs.
type Measurer interface {
	Measure(choice []int) (map[string]float64, error)
}

// Options say how to search.
type Options struct {
	Beam    int     // number of a knob's best values whose neighbours are tried
	Least   float64 // least gain that counts, as a fraction of the time before
	Repeats int     // measurements of each side of a comparison, at least 2
	// Stop reports whether to stop trying values; nil: never.
	Stop func() bool
	// Log gets messages about the progress; may be nil.
	Log func(format string, args ...any)
}

// sigmas is the number of standard errors that a gain must exceed.
const sigmas = 3

// Choice is the result of the search for one knob.
type Choice struct {
	Knob     *Knob
	From, To Value
	// Times of the knob's stages in seconds, measured alternately after the search. If nothing better was
	// found, both are 0 and To equals From.
	Before, After float64
	// Tried is the number of values that were measured.
	Tried int
}

// Gain returns the fraction of the time before that is saved.
func (c *Choice) Gain() float64 {
	if c.Before == 0 {
		return 0
	}
	return 1 - c.After/c.Before
}

// Search looks for the fastest value of every knob. It starts from the first values, and moves from the best
// few to their neighbours, until no neighbour is better by more than the noise. Each stage is timed
// separately, so knobs that change different stages are tried at the same time. At the end the best values
// and the first ones are measured alternately, and only values that win again are kept.
func Search(knobs []Knob, m Measurer, o Options) ([]Choice, error) {
	s := &search{Measurer: m, Options: o, knobs: knobs, tracks: make([]track, len(knobs))}
	if err := s.start(); err != nil {
		return nil, err
	}
	for s.round() {
	}
	return s.confirm()
}

type search struct {
	Measurer
	Options
	knobs  []Knob
	tracks []track
}

// track has the measurements of one knob's values.
type track struct {
	cost    map[int]float64 // in seconds by index of the value; infinite if it cannot be measured
	noise   float64         // standard deviation of one measurement, relative
	pending []int
	done    bool
}

// best returns the indices of the measured values, the fastest first.
func (t *track) best() []int {
	var list []int
	for i := range t.cost {
		list = append(list, i)
	}
	slices.SortFunc(list, func(a, b int) int { return cmp.Or(cmp.Compare(t.cost[a], t.cost[b]), cmp.Compare(a, b)) })
	return list
}

func (s *search) logf(format string, args ...any) {
	if s.Log != nil {
		s.Log(format, args...)
	}
}

// cost returns the sum of the times of a knob's stages.
func (k *Knob) cost(times map[string]float64) (sum float64, err error) {
	for _, stage := range k.Stages {
		t, ok := times[stage]
		if !ok || !(t > 0) || math.IsInf(t, 0) {
			return 0, fmt.Errorf("%s: no time for the stage %s", k.Name, stage)
		}
		sum += t
	}
	return sum, nil
}

// start measures the first values several times, to know the noise. A device that was idle is slow at first,
// so the first measurement is dropped.
func (s *search) start() error {
	first := make([]int, len(s.knobs))
	if _, err := s.Measure(first); err != nil {
		return err
	}
	samples := make([][]float64, len(s.knobs))
	for range max(s.Repeats, 2) {
		if err := s.once(first, samples); err != nil {
			return err
		}
	}
	for i := range s.knobs {
		mean, sd := meanSD(samples[i])
		s.tracks[i] = track{cost: map[int]float64{0: mean}, noise: sd / mean}
		s.logf("%s: %.2f µs with %s, noise %.2f %%", s.knobs[i].Name, 1e6*mean, s.knobs[i].Values[0], 100*sd/mean)
	}
	return nil
}

// once measures one choice and appends each knob's cost to its samples.
func (s *search) once(choice []int, samples [][]float64) error {
	times, err := s.Measure(choice)
	if err != nil {
		return err
	}
	for i := range s.knobs {
		c, err := s.knobs[i].cost(times)
		if err != nil {
			return err
		}
		samples[i] = append(samples[i], c)
	}
	return nil
}

// round tries the neighbours of the best values of all knobs. It returns false when there is nothing left to
// try.
func (s *search) round() bool {
	for i := range s.tracks {
		s.tracks[i].pending = s.neighbours(i)
	}
	before := make([]float64, len(s.knobs))
	for i := range s.tracks {
		before[i] = s.tracks[i].cost[s.tracks[i].best()[0]]
	}
	for {
		var moved []int
		for i := range s.knobs {
			if len(s.tracks[i].pending) > 0 && !overlaps(s.knobs, moved, i) {
				moved = append(moved, i)
			}
		}
		if len(moved) == 0 || s.Stop != nil && s.Stop() {
			break
		}
		s.try(moved)
	}
	more := false
	for i := range s.tracks {
		t := &s.tracks[i]
		best := t.cost[t.best()[0]]
		t.done = t.done || best >= before[i]*(1-t.threshold(s.Least))
		more = more || !t.done
	}
	return more && (s.Stop == nil || !s.Stop())
}

// threshold returns the least gain of a single measurement that counts.
func (t *track) threshold(least float64) float64 { return max(least, sigmas*t.noise) }

// neighbours returns the indices of a knob's unmeasured values that are neighbours of its best values.
func (s *search) neighbours(knob int) []int {
	t, values := &s.tracks[knob], s.knobs[knob].Values
	if t.done {
		return nil
	}
	best := t.best()
	best = best[:min(len(best), max(s.Beam, 1))]
	var list []int
	for i := range values {
		_, known := t.cost[i]
		if !known && slices.ContainsFunc(best, func(b int) bool { return !math.IsInf(t.cost[b], 0) && values[i].near(values[b]) }) {
			list = append(list, i)
		}
	}
	return list
}

// try measures the next value of each of some knobs at once, or if that fails one by one, because a GPU may
// refuse a kernel that compiles.
func (s *search) try(moved []int) {
	choice := make([]int, len(s.knobs))
	for _, i := range moved {
		t := &s.tracks[i]
		choice[i], t.pending = t.pending[0], t.pending[1:]
	}
	times, err := s.Measure(choice)
	for _, i := range moved {
		at, value := times, s.knobs[i].Values[choice[i]]
		failed := err
		if err != nil && len(moved) > 1 {
			alone := make([]int, len(s.knobs))
			alone[i] = choice[i]
			at, failed = s.Measure(alone)
		}
		cost := math.Inf(1)
		if failed == nil {
			cost, failed = s.knobs[i].cost(at)
		}
		if failed != nil {
			cost = math.Inf(1)
			s.logf("%s: %s: %v", s.knobs[i].Name, value, failed)
		} else {
			s.logf("%s: %.2f µs with %s", s.knobs[i].Name, 1e6*cost, value)
		}
		s.tracks[i].cost[choice[i]] = cost
	}
}

// confirm measures the best values against the first ones, alternately. Knobs that change a common stage are
// compared one after the other, each on top of what was kept before.
func (s *search) confirm() ([]Choice, error) {
	found := make([]Choice, len(s.knobs))
	kept, waiting := make([]int, len(s.knobs)), []int{}
	for i := range s.knobs {
		t, k := &s.tracks[i], &s.knobs[i]
		found[i] = Choice{Knob: k, From: k.Values[0], To: k.Values[0], Tried: len(t.cost)}
		if best := t.cost[t.best()[0]]; best < t.cost[0]*(1-t.threshold(s.Least)) {
			waiting = append(waiting, i)
		}
	}
	for len(waiting) > 0 {
		var batch, later []int
		for _, i := range waiting {
			if overlaps(s.knobs, batch, i) {
				later = append(later, i)
			} else {
				batch = append(batch, i)
			}
		}
		waiting = later
		if err := s.compare(kept, batch, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// compare measures the best values of a batch of knobs against the kept values, and keeps those that win by
// more than the noise. If a measurement fails, it compares each knob alone.
func (s *search) compare(kept, batch []int, found []Choice) error {
	next := slices.Clone(kept)
	for _, i := range batch {
		next[i] = s.tracks[i].best()[0]
	}
	before, after := make([][]float64, len(s.knobs)), make([][]float64, len(s.knobs))
	for range max(s.Repeats, 2) {
		if err := s.once(kept, before); err != nil {
			return err
		}
		err := s.once(next, after)
		switch {
		case err != nil && len(batch) > 1:
			for _, i := range batch {
				if err := s.compare(kept, []int{i}, found); err != nil {
					return err
				}
			}
			return nil
		case err != nil:
			s.logf("%s: %s is not kept: %v", s.knobs[batch[0]].Name, s.knobs[batch[0]].Values[next[batch[0]]], err)
			return nil
		}
	}
	for _, i := range batch {
		was, is, ok := s.wins(before[i], after[i])
		if !ok {
			s.logf("%s: %.2f µs before, %.2f after: not kept", s.knobs[i].Name, 1e6*was, 1e6*is)
			continue
		}
		kept[i] = next[i]
		c := &found[i]
		c.To, c.Before, c.After = s.knobs[i].Values[next[i]], was, is
	}
	return nil
}

// wins reports whether the mean of after is less than that of before, by at least the gain that counts and by
// more than the standard error allows. It also returns both means.
func (s *search) wins(before, after []float64) (was, is float64, ok bool) {
	was, sdWas := meanSD(before)
	is, sdIs := meanSD(after)
	noise := math.Hypot(sdWas, sdIs) / math.Sqrt(float64(len(before)))
	gain := was - is
	return was, is, gain > s.Least*was && gain > sigmas*noise
}

// meanSD returns the mean and the sample standard deviation.
func meanSD(x []float64) (mean, sd float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		sd += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(sd / float64(len(x)-1))
}
