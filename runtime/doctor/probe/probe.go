// Package probe measures the quantities that determine the speed of Apple's GPU, and how long the system lets
// a command buffer run. These are the doctor's stages that need no model.
package probe

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"mla/runtime/device/chips"
	"mla/runtime/device/metal"
	"mla/runtime/doctor/checkup"
	"mla/runtime/engine"
)

// The durations of command buffers that are tried; each is twice as long as the one before.
const (
	shortest = 10 * time.Millisecond
	longest  = 4 * time.Second
)

// LongBuffers finds the shortest command buffer that the system aborts. An abort is not a failure, as
// programs keep their command buffers shorter.
func LongBuffers(w *checkup.Writer, d *metal.Device) error {
	var ended time.Duration
	var failed error
	err := d.LongBuffers(shortest, longest, func(b metal.LongBuffer) {
		if failed = b.Err; failed == nil {
			ended = b.Wanted
			w.Write(checkup.Pass, fmt.Sprintf("a buffer of %v", b.Wanted), "%d ms", b.Took.Milliseconds())
			return
		}
		w.Write(checkup.Fact, "first that did not end", "%v: %v", b.Wanted, failed)
	})
	if err != nil {
		return unable(w, "long command buffers", err)
	}
	w.Write(checkup.Fact, "longest that ended", "%v", ended)
	if budget := d.Budget(); failed != nil && ended < budget {
		w.Write(checkup.Fail, "long command buffers", "one of %v did not end well, and mlarun makes some of up to %v: %v", max(2*ended, shortest), budget, failed)
	}
	return nil
}

// dependent is about the number of dispatches per token of the models in specs.
const dependent = 400

// Dispatches measures the cost of a dispatch that waits for the one before.
func Dispatches(w *checkup.Writer, d *metal.Device, how metal.Replay) error {
	gpu, wall, err := d.Dispatches(how, dependent)
	if err != nil {
		return unable(w, "dependent dispatches", err)
	}
	each := func(t time.Duration) float64 { return t.Seconds() * 1e6 / dependent }
	w.Write(checkup.Fact, "a dependent dispatch", "%.2f µs of the GPU, %.2f µs on the wall; %.1f µs predicted", each(gpu), each(wall), chips.Of(d.Info.Name).LaunchUs)
	w.Write(checkup.Pass, "dependent dispatches", "%d in a row", dependent)
	return nil
}

// The memory that Bandwidth reads: the first size, the factor to the next size, and the duration at which it
// stops.
const (
	firstRead  = 16 << 20
	mostRead   = 1 << 30
	largerRead = 4
	readFor    = 20 * time.Millisecond
)

// Bandwidth measures how fast the GPU reads memory. It reads more and more until the time is long enough to
// be meaningful.
func Bandwidth(w *checkup.Writer, d *metal.Device) error {
	most := min(uint64(mostRead), d.MaxBuffer, d.MaxMemory/4)
	for n := min(uint64(firstRead), most); ; n = min(n*largerRead, most) {
		rate, err := d.Bandwidth(n)
		if err != nil {
			return unable(w, "read memory", err)
		}
		if n < most && (rate == 0 || float64(n)/rate < readFor.Seconds()) {
			continue
		}
		chip := chips.Of(d.Info.Name)
		w.Write(checkup.Fact, "read bandwidth", "%.0f GB/s of %s; %.0f GB/s on the data sheet of %s", rate/1e9, engine.Size(int64(n)), chip.GBs, chip.Name)
		w.Write(checkup.Pass, "read memory", "%s add up as on the CPU", engine.Size(int64(n)))
		return nil
	}
}

// unable writes an error as a row: a skipped check if the GPU lacks a feature, else a failed one.
func unable(w *checkup.Writer, name string, err error) error {
	if errors.Is(err, errors.ErrUnsupported) {
		w.Write(checkup.Skip, name, "%v", err)
		return nil
	}
	w.Write(checkup.Fail, name, "%s", strings.TrimSpace(err.Error()))
	return nil
}
