package cuda

import (
	"errors"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"mla/runtime/device"
	"mla/runtime/device/cuda/cu"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// ring is the number of units of work that can be in flight.
const ring = 8

// runner implements device.Picker.
// Inside a prompt no caller waits for a token: up to ring units are in flight, each of one step or of several
// steps of a loop. The runner waits for one when its slot is needed again, or when its results are. The
// stream keeps units in order. The caches are invalid after a failed unit, and after most failures the driver
// refuses all work: so the error is returned by every later call.
// everything: so its error is returned by every later call.
type runner struct {
	vocab, context int
	kv             quant.Type
	device         *Device
	model          *device.Model
	commands       *device.Commands

	gpu        *cu.Context
	memory     memory
	code       *code
	stages     []stage // of a token
	graphs     graphs
	stream     cu.Stream
	rows       *cu.Pinned // [ring][batch+width]plan.Row: the wanted rows, then all rows
	width      int
	batch      int // maximum number of rows of a batch
	tables     *device.Tables
	planes     plan.Planes // the layout of a page
	stateBytes int         // of one session
	paged      *cu.Pinned  // copies to the device of block table entries
	logits     *cu.Pinned
	moved      *cu.Pinned // copies of vectors to or from the device; nil: none yet
	stated     *cu.Pinned // copies of a state to or from the device; nil: none yet
	staging    *cu.Pinned // [ring] copies of pages to or from the device; nil: none yet
	units      device.Queue
	slots      [ring]slot // by unit in flight
	picks      picks
	closed     bool
}

// graphs is the executable graphs. A graph without work is nil.
type graphs struct {
	sequences []replay // one per plan.Sequence
}

// replay is the graphs of a sequence: all of it, the part without logits, and steps that pick tokens at their
// end.
type replay struct {
	all, body *cu.Exec
	steps     [len(lengths)]*cu.Exec
}

// lengths is the number of steps of each of replay.steps; the first is the largest, the last is 1. Between
// two launches the GPU idles for 2 µs (on an H200), between two steps of one graph it does not. Recording
// costs 4 µs per dispatch. So only the sequence of one row, whose steps are shortest, has graphs of several
// steps.
var lengths = [...]int{4, 1}

// slot is the objects of one unit in flight.
type slot struct {
	begin, end cu.Event
	tables     bool // the unit copies entries of block tables
}

// newRunner allocates memory, uploads the weights and records the graphs.
func (d *Device) newRunner(m *device.Model, cfg device.Config, l *device.Layout, c *device.Commands) (r *runner, err error) {
	r = &runner{width: l.Width, batch: l.Batch, vocab: m.Bundle.Model.VocabSize, context: cfg.Context, kv: cfg.KV, planes: l.Planes, device: d, model: m, commands: c}
	r.units = device.NewQueue(ring, r.wait)
	if r.gpu, err = d.device.Retain(); err != nil {
		return nil, err
	}
	err = errors.Join(d.answered(), r.gpu.Do(func() error { return r.build(l, cfg.Progress) }))
	if err != nil {
		return nil, errors.Join(err, r.release())
	}
	return r, nil
}

func (r *runner) build(l *device.Layout, progress func(done, total int64)) (err error) {
	// The kernels come first, so that errors in them show before a long upload.
	p, err := r.device.read(r.model.Bundle)
	if err != nil {
		return err
	}
	var uses []use
	for _, c := range r.commands.All() {
		uses = append(uses, use{c.Variant.Func, c.Kernel})
	}
	if r.code, err = p.load(uses); err != nil {
		return err
	}
	if err := r.memory.allocate(l, r.commands); err != nil {
		return err
	}
	if err := r.memory.fill(r.gpu, r.model, l, r.commands.Constants, progress); err != nil {
		return fmt.Errorf("upload the weights: %w", err)
	}
	if r.stream, err = cu.NewStream(); err != nil {
		return err
	}
	if r.rows, err = cu.AllocPinned(ring * r.slotBytes()); err != nil {
		return err
	}
	r.tables, r.stateBytes = l.NewTables(), l.StateBytes()
	if r.paged, err = cu.AllocPinned(int(l.Tables)); err != nil {
		return err
	}
	if r.logits, err = cu.AllocPinned(int(l.Logits)); err != nil {
		return err
	}
	r.picks.loop = device.NewLoop(r.vocab, r.context, r.tables)
	if r.memory.picked, err = r.picks.allocate(l, r.vocab); err != nil {
		return err
	}
	for i := range r.slots {
		t := &r.slots[i]
		for _, e := range []*cu.Event{&t.begin, &t.end} {
			if *e, err = cu.NewEvent(); err != nil {
				return err
			}
		}
	}
	return r.record()
}

// record records the graphs.
func (r *runner) record() error {
	r.stages = stages(r.commands.Decode().Commands, r.code, &r.memory)
	r.graphs.sequences = make([]replay, len(r.commands.Sequences))
	picks := stages(r.commands.Pick, r.code, &r.memory)
	type recording struct {
		what   string
		stages []stage
		to     **cu.Exec
	}
	var list []recording
	for i, q := range r.commands.Sequences {
		to := &r.graphs.sequences[i]
		all := stages(q.Commands, r.code, &r.memory)
		list = append(list,
			recording{rowsOf(q.Width), all, &to.all},
			recording{rowsOf(q.Width) + " without logits", stages(q.Commands[:q.Head], r.code, &r.memory), &to.body})
		for j, n := range lengths {
			if len(picks) > 0 && (n == 1 || q.Width == 1) {
				what := fmt.Sprintf("%d steps of %s with the sampler", n, rowsOf(q.Width))
				list = append(list, recording{what, slices.Repeat(slices.Concat(all, picks), n), &to.steps[j]})
			}
		}
	}
	for _, g := range list {
		if len(g.stages) == 0 {
			continue
		}
		exec, err := record(g.stages)
		*g.to = &exec
		if err != nil {
			return fmt.Errorf("record %s: %w", g.what, err)
		}
	}
	return nil
}

// Replay implements device.Runner.
func (r *runner) Replay(rows []plan.Row, wanted []int) ([]float32, error) {
	if err := r.begin(rows, wanted); err != nil {
		return nil, err
	}
	if err := r.gpu.Do(func() error { return r.replay(rows, wanted) }); err != nil || len(wanted) == 0 {
		return nil, err
	}
	return r.hostLogits()[:len(wanted)*r.vocab], nil
}

// begin checks rows, and finishes or drops what was run before.
func (r *runner) begin(rows []plan.Row, wanted []int) error {
	if r.closed {
		return errClosed
	}
	if err := errors.Join(device.CheckRows(rows, r.width, r.vocab, r.context), device.CheckWanted(wanted, len(rows), r.batch), r.tables.Check(rows...)); err != nil {
		return err
	}
	r.forget()
	return nil
}

// forget drops the results of steps in flight.
func (r *runner) forget() {
	r.picks.loop.Forget()
	r.picks.made = 0
}

// hostLogits is the host's copy of the logits, [batch][VocabSize].
func (r *runner) hostLogits() []float32 {
	b := r.logits.Bytes()
	return unsafe.Slice((*float32)(unsafe.Pointer(&b[0])), len(b)/4)
}

// Width implements device.Runner.
func (r *runner) Width() int { return r.width }

// Wanted implements device.Runner.
func (r *runner) Wanted(rows int) int { return plan.WantedRows(rows, r.batch) }

// replay appends rows to the stream, and waits for them if logits are wanted.
func (r *runner) replay(rows []plan.Row, wanted []int) error {
	err := r.unit(func(slot int) error {
		graphs, err := r.sequence(slot, rows, wanted)
		if err != nil {
			return err
		}
		if len(wanted) == 0 {
			return launch(graphs.body, r.stream)
		}
		if err := graphs.all.Launch(r.stream); err != nil {
			return err
		}
		return r.stream.Download(r.logits, 0, r.memory.Spaces[plan.SpaceLogits], 4*len(wanted)*r.vocab)
	})
	if err != nil || len(wanted) == 0 {
		return err
	}
	return r.units.Drain()
}

// sequence returns the narrowest sequence for rows, after it has set the rows.
func (r *runner) sequence(slot int, rows []plan.Row, wanted []int) (*replay, error) {
	i := r.commands.For(len(rows))
	return &r.graphs.sequences[i], r.setRows(slot, rows, wanted, r.commands.Sequences[i].Width)
}

// rowsOf names a sequence in messages.
func rowsOf(width int) string {
	if width == 1 {
		return "the token"
	}
	return fmt.Sprintf("%d rows", width)
}

// launch launches a graph, unless it is nil.
func launch(g *cu.Exec, s cu.Stream) error {
	if g == nil {
		return nil
	}
	return g.Launch(s)
}

// unit runs f as one unit of work. slot is the slot whose memory f may use until the unit is done.
func (r *runner) unit(f func(slot int) error) error {
	i, err := r.units.Slot()
	if err != nil {
		return err
	}
	t := &r.slots[i]
	err = t.begin.Record(r.stream)
	if err == nil {
		err = f(i)
	}
	if err == nil {
		err = t.end.Record(r.stream)
	}
	if err != nil {
		return r.units.Fail(err)
	}
	t.tables = false
	r.units.Submit()
	return nil
}

// wait waits for the unit in a slot. After a failure the driver may refuse to wait.
func (r *runner) wait(i int) (time.Duration, error) {
	if r.units.Failed() != nil {
		return 0, nil
	}
	t := &r.slots[i]
	if err := t.end.Wait(); err != nil {
		return 0, err
	}
	return t.end.Since(t.begin)
}

// Dispatches implements device.Runner.
func (r *runner) Dispatches() int { return len(r.commands.Decode().Commands) }

// Bytes implements device.Runner.
func (r *runner) Bytes() int64 { return r.memory.bytes }

// Diagnostics implements device.Runner.
func (r *runner) Diagnostics() device.Diagnostics {
	return device.Diagnostics{
		GPUTime:     func() time.Duration { return r.units.Busy() },
		Compilation: func() (device.Compilation, error) { return r.code.compiled, nil },
		Profiler:    &device.Profiler{CopyBandwidth: r.measureCopy, Profile: r.profile},
		Stress:      r.stress,
	}
}

// Close implements device.Runner. It returns the error of a unit that was not waited for.
func (r *runner) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	r.picks.loop = device.Loop{} // later calls to it fail
	if r.units.Failed() != nil { // reported already; the driver may refuse further calls
		_ = r.release()
		return nil
	}
	err := r.gpu.Do(r.units.Drain)
	return errors.Join(err, r.release())
}

// release frees all objects, each before the objects that it uses, and the context last.
func (r *runner) release() error {
	err := r.gpu.Do(func() error {
		list := []error{r.stream.Destroy()}
		var all []*cu.Exec
		for _, g := range r.graphs.sequences {
			all = append(append(all, g.all, g.body), g.steps[:]...)
		}
		for _, g := range all {
			if g != nil {
				list = append(list, g.Destroy())
			}
		}
		for i := range r.slots {
			t := &r.slots[i]
			list = append(list, t.begin.Destroy(), t.end.Destroy())
		}
		list = append(list, r.picks.free(), r.rows.Free(), r.paged.Free(), r.logits.Free(), r.moved.Free(), r.staging.Free(), r.stated.Free(), r.memory.free(), r.code.unload())
		return errors.Join(list...)
	})
	return errors.Join(err, r.gpu.Release())
}
