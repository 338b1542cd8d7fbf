package metal

import (
	"errors"

	"mla/runtime/device"
	"mla/runtime/device/metal/mtl"
	"mla/runtime/plan"
)

// build makes the Metal objects of a runner.
func (d *Device) build(m *device.Model, cfg device.Config, l *layout, s *sequence) (*runner, error) {
	r := &runner{sequence: s, vocab: m.Bundle.Model.VocabSize, context: cfg.Context, bytes: l.own()}
	err := mtl.Pool(func() error { return d.fill(r, m, l, s) })
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// fill makes one object after the other; r.Close releases whatever there is.
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
	if r.memory, err = allocate(r.gpu, m, l); err != nil {
		return err
	}
	if len(r.commands) > r.decode && !r.memory.sample.Nil() {
		r.chain.Chain = device.NewChain(r.vocab, r.context)
	}
	if d.direct() {
		r.replayer = &direct{s, r.memory, r.pipelines}
		return nil
	}
	recording, err := record(r.gpu, s, r.memory, r.pipelines)
	r.replayer = recording
	if err != nil {
		return err
	}
	if d.Family < 9 {
		recording.warm = r.pipelines
	}
	if d.ResidencySets {
		return r.reside(recording)
	}
	return nil
}

// compile makes the pipelines of the sequence.
func (d *Device) compile(r *runner, b *plan.Bundle, s *sequence) error {
	c := &compiler{gpu: r.gpu, info: &d.Info}
	var err error
	if c.library, r.origin, err = d.library(r.gpu, b, s.functions); err != nil {
		return err
	}
	path := d.archivePath(b, s.functions, r.origin)
	c.archive = storedArchive(r.gpu, path)
	defer c.archive.Release()
	r.bundle, r.compiled = b, s.functions
	if r.pipelines, err = c.pipelines(s); err != nil || path == "" || !c.archive.Nil() {
		c.library.Release()
		return err
	}
	r.saving = newSaving(r.gpu, c.library, s.functions, path)
	return nil
}

// reside keeps all that the recording refers to resident, so that replays need
// to declare only what they write. Pipelines are in the set where the system takes
// them; before Apple9, what counts for them is recorded.warm.
func (r *runner) reside(rec *recorded) (err error) {
	if r.resident, err = r.gpu.NewResidencySet(len(rec.constant) + len(rec.mutable) + len(r.pipelines) + 2*ring); err != nil {
		return err
	}
	for _, list := range [][]mtl.Buffer{rec.constant, rec.mutable, rec.steps[:]} {
		for _, b := range list {
			r.resident.AddBuffer(b)
		}
	}
	for _, p := range r.pipelines {
		r.resident.AddPipeline(p)
	}
	for _, icb := range rec.icbs {
		r.resident.AddIndirect(icb)
	}
	r.resident.Request()
	r.queue.AddResidency(r.resident)
	rec.resident = true
	return nil
}
