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

// runner implements device.Sampler, device.Timed, device.Compiled, device.Profiler and
// device.Stresser.
//
// Inside a prompt nobody waits for a token: up to ring units, each of one token or
// of several of a chain, are in flight, and one is waited for when its slot is
// needed again, or when what it computes is. The stream keeps them in order. A
// failed unit voids the caches, and after most failures the driver refuses
// everything: so its error is returned by every later call.
type runner struct {
	vocab, context int
	kv             quant.Type
	device         *Device
	model          *device.Model
	commands       *device.Commands

	gpu     *cu.Context
	memory  memory
	code    *code
	stages  []stage // of a token
	graphs  graphs
	stream  cu.Stream
	rows    *cu.Pinned // [ring]plan.Row
	tables  *device.Tables
	paged   *cu.Pinned // the entries of tables, on their way to the device
	logits  *cu.Pinned
	staging *cu.Pinned // [ring] pages on their way to or from the host; nil: none has been
	slots   [ring]slot
	next    int       // slot of the next unit
	last    *plan.Row // of the last Replay, if the logits on the device are its
	chain   chain
	failed  error
	busy    time.Duration // of finished units
	closed  bool
}

// graphs are what is launched; those that have nothing to do are missing.
type graphs struct {
	body  *cu.Exec               // a token without its logits
	token *cu.Exec               // a token
	pick  *cu.Exec               // picks a token by the logits
	runs  [len(lengths)]*cu.Exec // run the picked token and pick the next, over and over
}

// lengths are how many tokens each of graphs.runs runs, the longest first and the
// last one token. Between two launches the GPU idles for 2 µs (on an H200), between
// two tokens of one graph it does not; recording costs 4 µs per dispatch.
var lengths = [...]int{4, 1}

// slot is a unit of work in flight.
type slot struct {
	begin, end cu.Event
	landed     cu.Event // behind end: what it picked is in the host's memory
	flying     bool
	picks      int // tokens that it picks
}

// newRunner allocates, uploads and records.
func (d *Device) newRunner(m *device.Model, cfg device.Config, l *device.Layout, c *device.Commands) (r *runner, err error) {
	r = &runner{vocab: m.Bundle.Model.VocabSize, context: cfg.Context, kv: cfg.KV, device: d, model: m, commands: c}
	if r.gpu, err = d.device.Retain(); err != nil {
		return nil, err
	}
	err = r.gpu.Do(func() error { return r.build(l, cfg.Progress) })
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
	for _, c := range slices.Concat(r.commands.Decode, r.commands.Sample) {
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
	if r.rows, err = cu.AllocPinned(ring * int(rowBytes)); err != nil {
		return err
	}
	r.tables = l.NewTables()
	if r.paged, err = cu.AllocPinned(int(l.Tables)); err != nil {
		return err
	}
	if r.logits, err = cu.AllocPinned(int(l.Logits)); err != nil {
		return err
	}
	if len(r.commands.Sample) > 0 && l.Sample > 0 {
		r.chain.Chain = device.NewChain(r.vocab, r.context)
	}
	if err := r.chain.allocate(r.vocab, l.Sample); err != nil {
		return err
	}
	for i := range r.slots {
		t := &r.slots[i]
		for _, e := range []*cu.Event{&t.begin, &t.end, &t.landed} {
			if *e, err = cu.NewEvent(); err != nil {
				return err
			}
		}
	}
	return r.record(r.model.Bundle.Head)
}

// record makes the graphs.
func (r *runner) record(head int) error {
	r.stages = stages(r.commands.Decode, r.code, &r.memory)
	pick := stages(r.commands.Sample, r.code, &r.memory)
	type recording struct {
		what   string
		stages []stage
		to     **cu.Exec
	}
	list := []recording{
		{"the token", r.stages, &r.graphs.token},
		{"the token without its logits", stages(r.commands.Decode[:head], r.code, &r.memory), &r.graphs.body},
		{"the sampler", pick, &r.graphs.pick},
	}
	if len(pick) > 0 {
		run := slices.Concat(r.stages, pick)
		for i, n := range lengths {
			list = append(list, recording{fmt.Sprintf("%d tokens with the sampler", n), slices.Repeat(run, n), &r.graphs.runs[i]})
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
func (r *runner) Replay(row plan.Row, logits bool) ([]float32, error) {
	if r.closed {
		return nil, errClosed
	}
	if err := errors.Join(device.CheckRow(row, r.vocab, r.context), r.tables.Check(row)); err != nil {
		return nil, err
	}
	if err := r.End(); err != nil {
		return nil, err
	}
	r.last = nil
	if err := r.gpu.Do(func() error { return r.token(row, logits) }); err != nil || !logits {
		return nil, err
	}
	r.last = &row
	b := r.logits.Bytes()
	return unsafe.Slice((*float32)(unsafe.Pointer(&b[0])), r.vocab), nil
}

// token puts one token into the stream, and waits for it if its logits are wanted.
func (r *runner) token(row plan.Row, logits bool) error {
	err := r.unit(0, func(slot int) error {
		if err := r.setRow(slot, row); err != nil {
			return err
		}
		if !logits {
			return r.launchBody()
		}
		if err := r.graphs.token.Launch(r.stream); err != nil {
			return err
		}
		return r.stream.Download(r.logits, 0, r.memory.logits, len(r.logits.Bytes()))
	})
	if err != nil || !logits {
		return err
	}
	return r.drain()
}

// launchBody launches a token without its logits, unless that is nothing.
func (r *runner) launchBody() error {
	if r.graphs.body == nil {
		return nil
	}
	return r.graphs.body.Launch(r.stream)
}

// unit puts what f does into the stream as one unit of work, which picks picks
// tokens. slot is for the memory that f needs until the unit is done.
func (r *runner) unit(picks int, f func(slot int) error) error {
	if err := r.land(r.next); err != nil {
		return err
	}
	t := &r.slots[r.next]
	err := t.begin.Record(r.stream)
	if err == nil {
		err = f(r.next)
	}
	if err == nil {
		err = t.end.Record(r.stream)
	}
	if err == nil && picks > 0 {
		err = r.chain.fetch(t, r.next, r.memory.sample+cu.Ptr(r.chain.layout.Picks))
	}
	if r.failed = err; err != nil {
		return err
	}
	t.flying, t.picks = true, picks
	r.next = (r.next + 1) % ring
	return nil
}

// setRow makes row that of what follows in the stream.
func (r *runner) setRow(slot int, row plan.Row) error {
	r.keepRow(slot, row)
	return r.stream.Upload(r.memory.row, r.rows, slot*int(rowBytes), int(rowBytes))
}

// keepRow puts a row where the unit in a slot takes it from.
func (r *runner) keepRow(slot int, row plan.Row) {
	*(*plan.Row)(unsafe.Pointer(&r.rows.Bytes()[slot*int(rowBytes)])) = row
}

// land waits for the unit in a slot, if one is in flight there.
func (r *runner) land(i int) error {
	t := &r.slots[i]
	if !t.flying || r.failed != nil {
		return r.failed
	}
	t.flying = false
	last := t.end
	if t.picks > 0 {
		last = t.landed
	}
	if r.failed = last.Wait(); r.failed != nil {
		return r.failed
	}
	ms, err := t.end.Since(t.begin)
	r.failed = err
	r.busy += time.Duration(float64(ms) * float64(time.Millisecond))
	r.chain.keep(i, t.picks)
	return r.failed
}

// drain waits for all units in flight, oldest first.
func (r *runner) drain() error {
	for i := range ring {
		_ = r.land((r.next + i) % ring) // r.failed has the first error
	}
	return r.failed
}

// Dispatches implements device.Runner.
func (r *runner) Dispatches() int { return len(r.commands.Decode) }

// Bytes implements device.Runner.
func (r *runner) Bytes() int64 { return r.memory.bytes }

// Compilation implements device.Compiled.
func (r *runner) Compilation() (device.Compilation, error) { return r.code.compiled, nil }

// GPUTime implements device.Timed.
func (r *runner) GPUTime() time.Duration { return r.busy }

// Close implements device.Runner. It returns the error of a unit that nobody has
// waited for.
func (r *runner) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	r.chain.Chain = device.Chain{} // nothing can be asked of it
	if r.failed != nil {           // reported; the driver may refuse what follows
		_ = r.release()
		return nil
	}
	err := r.gpu.Do(r.drain)
	return errors.Join(err, r.release())
}

// release frees all objects, users before what they use, and the context.
func (r *runner) release() error {
	err := r.gpu.Do(func() error {
		list := []error{r.stream.Destroy(), r.chain.free()}
		for _, g := range append(r.graphs.runs[:], r.graphs.body, r.graphs.token, r.graphs.pick) {
			if g != nil {
				list = append(list, g.Destroy())
			}
		}
		for i := range r.slots {
			t := &r.slots[i]
			list = append(list, t.begin.Destroy(), t.end.Destroy(), t.landed.Destroy())
		}
		list = append(list, r.rows.Free(), r.paged.Free(), r.logits.Free(), r.staging.Free(), r.memory.free(), r.code.unload())
		return errors.Join(list...)
	})
	return errors.Join(err, r.gpu.Release())
}
