// Package check compares single kernels of a bundle with their Go references. A Case is one variant of one
// kernel. It builds the memory of one launch, with random contents that are plausible for every argument,
// runs the launch on the references of runtime/device/cpu and on a Launcher, and compares every byte of both
// results.
//
// The parts of a kernel say what each of its arguments holds (parts.go). memory.go builds the memory, and
// compare.go holds the tolerances.
package check

import (
	"errors"
	"fmt"
	"slices"

	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/plan"
)

// Reference is the launcher that all others are compared with: the CPU device.
type Reference struct{}

// Launch implements Launcher.
func (Reference) Launch(l *device.Launch) error {
	m, ok := l.Memory.(*memory)
	if !ok {
		return fmt.Errorf("check: the reference runs launches of this package; this one has memory of type %T", l.Memory)
	}
	return cpu.Launch(&m.model, m.config, &cpu.Memory{Arena: m.arena, Heads: m.heads, States: m.states, Caches: m.caches(), Rope: m.rope, Tables: m.tables, Logits: m.logits}, m.live)
}

// Case is one variant of a kernel, at one position of the context.
type Case struct {
	Bundle  *plan.Bundle
	Kernel  *plan.Kernel
	Variant *plan.Variant
	Pos     int
	// Change, if not nil, changes the arguments before the kernel and its reference run.
	Change func(*device.Launch)

	dispatch *plan.Dispatch // the first dispatch of the kernel
}

// positions are the positions at which kernels run that read the cache or splits of it: the first row, the
// edges of a tile, a few splits, and the whole context. Other kernels run at one position.
var (
	cachePositions = []int{0, 15, 16, 37, context - 1}
	onePosition    = []int{37}
	// statePositions are those of kernels with a state, which begins as zeros or as earlier rows have left
	// it.
	statePositions = []int{0, 37}
	// batchPositions are those of kernels of several rows: each row has a position of its own, up to this
	// one.
	batchPositions = []int{16, context - 1}
)

// context is the greatest number of positions that a case has in the cache and in the rope table.
const context = 300

// positions returns the number of positions of a bundle's cases: context, or fewer for a model with a shorter
// one.
func positions(b *plan.Bundle) int { return min(context, b.Model.MaxPositionEmbeddings) }

// Cases lists every variant of every kernel that computes logits. Kernels that only pick tokens have no
// reference on the CPU device: Picks compares them with runtime/text/sample.
func Cases(b *plan.Bundle) ([]Case, error) {
	var list []Case
	for i := range b.Kernels {
		if onlySamples(b, i) {
			continue
		}
		k := &b.Kernels[i]
		a, err := argumentsOf(k)
		if err != nil {
			return nil, fmt.Errorf("bundle %s: %w", b.Name, err)
		}
		d := firstDispatch(b, dispatched(b, i))
		if d == nil {
			return nil, fmt.Errorf("bundle %s: nothing dispatches kernel %s with its %d slots", b.Name, k.Name, len(k.Slots))
		}
		at := onePosition
		switch {
		case k.Width > 0 && (a.splits != nil || a.deep):
			at = batchPositions
		case a.splits != nil:
			at = cachePositions
		case a.state != nil:
			at = statePositions
		}
		for j := range k.Variants {
			for _, pos := range at {
				if pos < positions(b) {
					list = append(list, Case{Bundle: b, Kernel: k, Variant: &k.Variants[j], Pos: pos, dispatch: d})
				}
			}
		}
	}
	return list, nil
}

// dispatched returns the number of the kernel to which dispatches refer when kernel i runs in its place.
func dispatched(b *plan.Bundle, i int) int {
	if k := &b.Kernels[i]; k.Class != "" {
		return k.Instead
	}
	return i
}

func onlySamples(b *plan.Bundle, kernel int) bool {
	of := func(d plan.Dispatch) bool { return d.Kernel == kernel }
	return slices.ContainsFunc(b.Pick, of) && !slices.ContainsFunc(b.Decode().Dispatches, of)
}

func firstDispatch(b *plan.Bundle, kernel int) *plan.Dispatch {
	for _, q := range b.Sequences {
		for i := range q.Dispatches {
			if d := &q.Dispatches[i]; d.Kernel == kernel && len(d.Operands) == len(b.Kernels[kernel].Slots) {
				return d
			}
		}
	}
	return nil
}

// Result is the outcome of a case.
type Result struct {
	Case *Case
	// Slot is the argument with the greatest error. Error is that error, relative to the largest number in
	// the slot, and Tolerance is the greatest error allowed. Beyond the tolerance, Detail describes the first
	// number that exceeds it.
	Slot             string
	Error, Tolerance float64
	Detail           string
	// Err is the reason why the case could not run.
	Err error
}

// OK says whether the kernel agrees with its reference within the tolerance.
func (r *Result) OK() bool { return r.Err == nil && r.Error <= r.Tolerance }

// NotAble says whether the device does not support the kernel, which is not a failure.
func (r *Result) NotAble() bool { return errors.Is(r.Err, errors.ErrUnsupported) }

// Check runs a case on a launcher and compares the result with the reference's.
func (c *Case) Check(l device.Launcher) Result {
	r := Result{Case: c}
	want, err := newMemory(c)
	if err != nil {
		r.Err = err
		return r
	}
	if c.Change != nil {
		c.Change(want.launch(c))
	}
	got := want.clone()
	if r.Err = (Reference{}).Launch(want.launch(c)); r.Err != nil {
		return r
	}
	if r.Err = l.Launch(got.launch(c)); r.Err == nil {
		compare(&r, got, want)
	}
	return r
}

func (m *memory) launch(c *Case) *device.Launch {
	k := m.kernel
	return &device.Launch{Kernel: k, Variant: c.Variant, Groups: k.Groups(), Threads: k.Threads, Buffers: m.buffers, Memory: m}
}
