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
//
// Inside a prompt nobody waits for a token: up to ring units, each of one step or
// of several of a loop, are in flight, and one is waited for when its slot is
// needed again, or when what it computes is. The stream keeps them in order. A
// failed unit voids the caches, and after most failures the driver refuses
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
	rows       *cu.Pinned // [ring][batch+width]plan.Row: those that are wanted, then all
	width      int
	batch      int // rows of one, at most
	tables     *device.Tables
	planes     plan.Planes // of a page
	stateBytes int         // of a session
	paged      *cu.Pinned  // the entries of tables, on their way to the device
	logits     *cu.Pinned
	moved      *cu.Pinned // vectors on their way to or from the host; nil: none has been
	stated     *cu.Pinned // a state on its way to or from the host; nil: none has been
	staging    *cu.Pinned // [ring] pages on their way to or from the host; nil: none has been
	units      device.Queue
	slots      [ring]slot // of units
	picks      picks
	closed     bool
}

// graphs are what is launched; those that have nothing to do are missing.
type graphs struct {
	sequences []replay // one per sequence
}

// replay is a sequence: whole, without what computes logits, and as steps with what picks
// after its rows by them.
type replay struct {
	all, body *cu.Exec
	steps     [len(lengths)]*cu.Exec
}

// lengths are how many steps each of replay.steps makes, the longest first and the last
// one step. Between two launches the GPU idles for 2 µs (on an H200), between two steps of
// one graph it does not; recording costs 4 µs per dispatch. So only the sequence of one row,
// whose steps are the shortest, has graphs of several.
var lengths = [...]int{4, 1}

// slot is what a unit of work has of its own.
type slot struct {
	begin, end cu.Event
	tables     bool // it brings entries of block tables
}

// newRunner allocates, uploads and records.
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
	// The kernels first: what is wrong with them shows before a long upload.
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

// record makes the graphs.
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

// begin checks rows, and ends what went before them.
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

// forget forgets what the device has picked.
func (r *runner) forget() {
	r.picks.loop.Forget()
	r.picks.made = 0
}

// hostLogits is where logits come to, [batch][VocabSize].
func (r *runner) hostLogits() []float32 {
	b := r.logits.Bytes()
	return unsafe.Slice((*float32)(unsafe.Pointer(&b[0])), len(b)/4)
}

// Width implements device.Runner.
func (r *runner) Width() int { return r.width }

// Wanted implements device.Runner.
func (r *runner) Wanted(rows int) int { return plan.WantedRows(rows, r.batch) }

// replay puts rows into the stream, and waits for them if logits are wanted.
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

// sequence is the narrowest that holds rows, which it puts in their place.
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

// launch launches a graph, unless it is missing: it has nothing to do.
func launch(g *cu.Exec, s cu.Stream) error {
	if g == nil {
		return nil
	}
	return g.Launch(s)
}

// unit puts what f does into the stream as one unit of work. slot is for the memory that f
// needs until the unit is done.
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

// wait waits for the unit in a slot. After a failure the driver may refuse even that.
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

// Close implements device.Runner. It returns the error of a unit that nobody has
// waited for.
func (r *runner) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	r.picks.loop = device.Loop{} // nothing can be asked of it
	if r.units.Failed() != nil { // reported; the driver may refuse what follows
		_ = r.release()
		return nil
	}
	err := r.gpu.Do(r.units.Drain)
	return errors.Join(err, r.release())
}

// release frees all objects, users before what they use, and the context.
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
