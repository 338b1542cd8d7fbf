package metal

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"mla/runtime/device"
	"mla/runtime/device/chips"
	"mla/runtime/plan"
)

// Ring is the maximum number of units in flight.
const Ring = ring

// InFlight returns the number of a runner's units that are committed and not yet waited for.
func InFlight(r device.Runner) int { return r.(*runner).units.InFlight() }

// SetPatience sets how long a runner's Close waits for its archive.
func SetPatience(d time.Duration) { patience = d }

// Stale is the age at which an archive that is not finished is removed.
const Stale = stale

// Compile says how much of a bundle would be compiled for some functions.
var Compile = compilation

// SlowChips makes the predicted speed of every GPU a number of times slower, because the models of tests are
// small.
func SlowChips(times float64) {
	chipOf = func(gpu string) chips.Chip {
		c := chips.Of(gpu)
		c.TFlops, c.GBs = c.TFlops/times, c.GBs/times
		return c
	}
}

// SetBudget sets how long a command buffer may take.
func SetBudget(d time.Duration) { fullBudget = d }

// SetWaitLimit sets how long a command buffer may take until it counts as stuck.
func SetWaitLimit(d time.Duration) { waitLimit = d }

// Paced returns how long a command buffer of a runner may take, whether the GPU was opened anew, and how many
// times slower than predicted the GPU was.
func Paced(r device.Runner) (budget time.Duration, rebuilt bool, slower float64) {
	p := r.(*runner).pace
	return p.budget, r.(*runner).rebuilt, p.slower
}

// Work returns the work of the kernels that a configuration of a model has, in the format of the simulator's
// METALSIM_WORK.
func Work(m *device.Model, cfg device.Config, class string) (string, error) {
	l, err := newLayout(m, cfg, maxWindow)
	if err != nil {
		return "", err
	}
	s, err := newSequence(m, cfg, l, class)
	if err != nil {
		return "", err
	}
	products := products(m.Bundle)
	var text strings.Builder
	for i := range s.commands {
		c, w := &s.commands[i], &s.commands[i].work
		rows := slices.IndexFunc(c.Kernel.Slots, func(s plan.Slot) bool { return s.Space == plan.SpaceRow })
		fmt.Fprintf(&text, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n", c.Variant.Func, rows, max(c.Kernel.Width, 1),
			products*w.RowFlops, products*w.PairFlops, products*w.CachedFlops, w.Bytes, w.PairBytes, w.CachedBytes,
			w.SplitBytes, w.Splits.Count, w.Splits.Tile, w.Splits.Least)
	}
	return text.String(), nil
}

// Pieces counts the command buffers that rows would be run in, and those of them that have a part
// of a dispatch.
func Pieces(d device.Runner, rows []plan.Row) (pieces, slices int) {
	r := d.(*runner)
	q := r.narrowest(len(rows))
	c := newCutting(r.sequence, &r.pace, rows, q.width, r.tables, []run{{q.from, q.to}})
	for p, ok := c.next(); ok; p, ok = c.next() {
		if pieces++; p.slice != nil {
			slices++
		}
	}
	return pieces, slices
}

// Functions lists the kernels of a configuration of a model by the width of the narrowest sequence
// that has them; 0: of those that pick tokens alone.
func Functions(m *device.Model, cfg device.Config) (map[int][]string, error) {
	l, err := newLayout(m, cfg, maxWindow)
	if err != nil {
		return nil, err
	}
	s, err := newSequence(m, cfg, l, "")
	if err != nil {
		return nil, err
	}
	list := map[int][]string{0: s.functions[s.needed:]}
	known := map[string]bool{}
	for _, q := range s.replays {
		for i := q.from; i < q.to; i++ {
			if f := s.functions[s.commands[i].function]; !known[f] {
				known[f] = true
				list[q.width] = append(list[q.width], f)
			}
		}
	}
	return list, nil
}

// Direct reports whether a runner encodes its commands for every token.
func Direct(r device.Runner) bool { return r.(*runner).direct }

// Splits returns the number of threadgroups that attention of one row is recorded with.
func Splits(r device.Runner) int {
	s := r.(*runner).sequence
	for i := range s.commands {
		if c := &s.commands[i]; c.Kernel.Attends() {
			return c.Groups
		}
	}
	return 0
}
