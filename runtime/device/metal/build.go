package metal

import (
	"errors"

	"mla/runtime/device"
	"mla/runtime/device/metal/mtl"
	"mla/runtime/plan"
)

// build creates the Metal objects of a runner.
func (d *Device) build(m *device.Model, cfg device.Config, l *layout, s *sequence) (*runner, error) {
	r := &runner{sequence: s, tables: l.NewTables(), vocab: m.Bundle.Model.VocabSize, context: cfg.Context, bytes: l.own(), pageBytes: l.PageBytes(), stateBytes: l.StateBytes(), planes: l.Planes}
	r.units = device.NewQueue(ring, r.wait)
	r.pace = newPace(d.Info.Name, m.Bundle, d.budget())
	r.stepPace = r.pace
	r.keepBudget, r.refill = d.keepBudget, func() error { return d.fill(r, m, l, s) }
	r.late = func() {
		d.say("the GPU's commands have not ended after %v; after %v the program gives up\n", waitLimit/10, waitLimit)
	}
	err := mtl.Pool(r.refill)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	r.loop.Loop = device.NewLoop(r.vocab, r.context, r.tables)
	return r, nil
}

// fill creates the objects one after the other. After an error, r.Close releases those that exist.
func (d *Device) fill(r *runner, m *device.Model, l *layout, s *sequence) (err error) {
	if r.gpu, err = mtl.NewSystemDevice(); err != nil {
		return err
	}
	if r.queue, err = r.gpu.NewQueue(); err != nil {
		return err
	}
	if err = d.compile(r, m.Bundle, s); err != nil {
		return err
	}
	s.cut(d.splits(s, func(c *command) int { return r.pipelines[c.function].AtOnce(c.Kernel.Threads) }), l.constants)
	if r.memory, err = allocate(r.gpu, m, l); err != nil {
		return err
	}
	var icbs []mtl.Indirect
	if r.direct {
		r.replayer = &direct{s, r.memory, r.pipelines}
	} else {
		recording, err := record(r.gpu, s, r.memory, r.pipelines)
		r.replayer = recording
		if err != nil {
			return err
		}
		icbs, recording.resident = recording.icbs[:], d.keepsResident()
		if d.Family < 9 {
			recording.warm = r.pipelines
		}
	}
	if d.keepsResident() {
		return r.reside(icbs)
	}
	return nil
}

// keepsResident says whether residency sets keep the memory resident (macOS 15). A virtual GPU may claim
// features that do not work, so there the commands declare the memory that they use.
func (d *Device) keepsResident() bool { return d.ResidencySets && !d.Virtual }

// compile creates the pipelines of the sequence.
func (d *Device) compile(r *runner, b *plan.Bundle, s *sequence) error {
	c := &compiler{gpu: r.gpu, info: &d.Info, persistent: persistent(b), spares: true}
	var err error
	if c.library, r.origin, err = d.library(r.gpu, b, s.functions); err != nil {
		failed := d.alone(r.gpu, b, s.functions)
		if len(failed) == 0 {
			return err // each function compiles alone
		}
		if !s.canSpare(failed) {
			return failed
		}
		s.withoutSampler()
		if c.library, r.origin, err = d.library(r.gpu, b, s.functions); err != nil {
			return err
		}
	}
	path := d.archivePath(b, s.functions, r.origin)
	c.archive = storedArchive(r.gpu, path)
	defer c.archive.Release()
	r.bundle, r.compiled = b, s.functions
	r.pipelines, err = c.pipelines(s)
	r.direct = d.direct()
	if k := c.direct.Load(); err == nil && k != nil && !r.direct {
		r.direct = true
		d.say("%v\nso that kernels are not recorded: each command is encoded for every token, which costs about a millisecond\n", k)
	}
	if err != nil || path == "" || !c.archive.Nil() {
		c.library.Release()
		return err
	}
	r.saving = newSaving(r.gpu, c.library, s.functions, c.direct.Load() == nil, c.persistent, path)
	return nil
}

// reside adds all memory that commands refer to to a residency set. Replays of ICBs then declare only the
// buffers that they write, and no token waits for memory that was idle. Pipelines are in the set where the
// system allows it; on GPUs before Apple9, recorded.warm serves instead for those of an ICB.
func (r *runner) reside(icbs []mtl.Indirect) (err error) {
	constant, mutable := r.memory.constant(), r.memory.mutable()
	if r.resident, err = r.gpu.NewResidencySet(len(constant) + len(mutable) + len(r.pipelines) + 2*ring + 1); err != nil {
		return err
	}
	for _, list := range [][]mtl.Buffer{constant, mutable, r.memory.rows[:]} {
		for _, b := range list {
			r.resident.AddBuffer(b)
		}
	}
	for _, icb := range icbs {
		r.resident.AddIndirect(icb)
	}
	for _, p := range r.pipelines {
		r.resident.AddPipeline(p)
	}
	r.resident.Commit()
	r.resident.Request()
	r.queue.AddResidency(r.resident)
	r.heartbeat = keepResident(r.resident)
	return nil
}
