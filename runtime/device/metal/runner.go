package metal

import (
	"errors"
	"slices"
	"time"
	"unsafe"

	"mla/runtime/device"
	"mla/runtime/device/metal/mtl"
	"mla/runtime/plan"
)

// runner implements device.Picker.
//
// Inside a prompt no caller waits for a token: up to ring of them are in flight. The runner waits for one
// when its slot is needed again, or when its logits are. The caches are invalid after a failed token, so its
// error is returned by every later call.
type runner struct {
	*sequence
	vocab, context int
	bytes          int64
	pageBytes      int
	stateBytes     int
	planes         plan.Planes // the layout of a page

	gpu       mtl.Device
	queue     mtl.Queue
	pipelines []mtl.Pipeline
	bundle    *plan.Bundle
	compiled  []string // functions of the bundle
	origin    string   // see Device.library
	saving    *saving  // writes the archive; nil: it exists already
	memory    *memory
	resident  mtl.ResidencySet // nil before macOS 15
	heartbeat *heartbeat       // of resident
	tables    *device.Tables
	replayer  replayer
	direct    bool // commands are encoded for every token

	units    device.Queue
	commands [ring]unit // by slot
	pace     pace       // of many rows
	stepPace pace       // of one row or a few, which have other kernels
	// keepBudget stores the budget of a command buffer, and the reason for it, for later runs.
	keepBudget func(budget time.Duration, why string) (kept bool)
	budgetKept bool         // result of the last keepBudget
	refill     func() error // creates the Metal objects as for a new runner
	late       func()       // tells the user that commands take very long
	rebuilt    bool         // at most once
	before     [][]byte     // saved by remember
	stuck      bool         // commands have not ended in time, and may still use all memory
	picked     int          // by the last Pick, if the logits belong to it
	loop       loop
	closed     bool
}

// Replay implements device.Runner.
func (r *runner) Replay(rows []plan.Row, wanted []int) ([]float32, error) {
	if err := r.begin(rows, wanted); err != nil {
		return nil, err
	}
	err := mtl.Pool(func() error { return r.replay(rows, wanted, false) })
	if err != nil || len(wanted) == 0 {
		return nil, err
	}
	return floats(r.memory.Spaces[plan.SpaceLogits])[:len(wanted)*r.vocab], nil
}

// begin checks rows, and finishes or drops what was run before.
func (r *runner) begin(rows []plan.Row, wanted []int) error {
	if r.closed {
		return errClosed
	}
	if err := r.units.Failed(); err != nil {
		return err // opening the GPU anew may have failed for lack of memory
	}
	if err := errors.Join(device.CheckRows(rows, r.width, r.vocab, r.context), device.CheckWanted(wanted, len(rows), r.bundle.BatchRows()), r.tables.Check(rows...)); err != nil {
		return err
	}
	inFlight := r.loop.InFlight()
	if r.forget(); inFlight { // the steps in flight use memory that the host is about to write
		return mtl.Pool(r.units.Drain)
	}
	return nil
}

// forget drops the results of steps in flight.
func (r *runner) forget() {
	r.loop.Forget()
	r.picked = 0
}

// Width implements device.Runner.
func (r *runner) Width() int { return r.width }

// Wanted implements device.Runner.
func (r *runner) Wanted(rows int) int { return plan.WantedRows(rows, r.bundle.BatchRows()) }

// replay submits rows and, if picks is set, the commands that pick tokens. It waits for them if logits are
// wanted.
func (r *runner) replay(rows []plan.Row, wanted []int, picks bool) error {
	slot, err := r.units.Slot()
	if err != nil {
		return err
	}
	r.writeRows(slot, rows, wanted)
	q := r.narrowest(len(rows))
	runs := []run{{q.from, q.head}}
	switch {
	case picks:
		runs = r.step(q)
	case len(wanted) > 0:
		runs[0].to = q.to
	}
	if err := r.commit(slot, runs, 1, rows, q.width); err != nil || len(wanted) == 0 {
		return err
	}
	return r.units.Drain()
}

// narrowest is the narrowest sequence for a number of rows.
func (r *runner) narrowest(rows int) replayed {
	return r.replays[slices.IndexFunc(r.replays, func(q replayed) bool { return q.width >= rows })]
}

// writeRows writes the wanted rows and all rows to a slot, each followed by dead rows.
func (r *runner) writeRows(slot int, rows []plan.Row, wanted []int) {
	batch := r.bundle.BatchRows()
	to := unsafe.Slice((*plan.Row)(unsafe.Pointer(&r.memory.rows[slot].Bytes()[0])), batch+r.width)
	clear(to[len(device.Wanted(to[:0], rows, wanted)):batch])
	to = to[batch:]
	clear(to[copy(to, rows):])
}

// Dispatches implements device.Runner.
func (r *runner) Dispatches() int { return r.replays[0].to }

// Bytes implements device.Runner.
func (r *runner) Bytes() int64 { return r.bytes }

// Diagnostics implements device.Runner.
func (r *runner) Diagnostics() device.Diagnostics {
	return device.Diagnostics{
		GPUTime:     func() time.Duration { return r.units.Busy() },
		Compilation: func() (device.Compilation, error) { return compilation(r.bundle, r.compiled, r.origin) },
	}
}

// Close implements device.Runner. It returns the error of a token that was not waited for.
func (r *runner) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	r.loop = loop{} // later calls to it fail
	return mtl.Pool(func() error {
		reported := r.units.Failed() != nil
		err := r.units.Drain()
		if !r.stuck {
			r.release()
		}
		if reported {
			return nil
		}
		return err
	})
}

// release releases all objects, each before the objects that it uses.
func (r *runner) release() {
	r.heartbeat.close()
	r.heartbeat = nil
	if !r.resident.Nil() {
		r.queue.RemoveResidency(r.resident)
		r.resident.End()
		r.resident.Release()
	}
	if r.replayer != nil {
		r.replayer.release()
		r.replayer = nil
	}
	for i := range r.pipelines {
		r.pipelines[i].Release()
	}
	r.pipelines = nil
	if r.memory != nil {
		r.memory.release()
		r.memory = nil
	}
	r.saving.end()
	r.saving = nil
	r.queue.Release()
	r.gpu.Release()
}
