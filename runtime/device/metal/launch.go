package metal

import (
	"errors"
	"fmt"

	"mla/runtime/device"
	"mla/runtime/device/metal/mtl"
	"mla/runtime/plan"
)

// Launcher runs single kernels of one bundle on the caller's memory. It is a device.Launcher, for one
// goroutine at a time.
type Launcher struct {
	origin    string
	gpu       mtl.Device
	queue     mtl.Queue
	compiler  compiler
	pipelines map[string]mtl.Pipeline
	indirect  bool // commands run from an ICB
	warm      bool // see recorded.warm
	stuck     bool // commands have not ended; nothing may be released
}

// NewLauncher compiles functions of the bundle. They run from an ICB or are encoded directly, as
// Options.Replay says.
func (d *Device) NewLauncher(b *plan.Bundle, functions []string) (*Launcher, error) {
	if err := d.Runs(b); err != nil {
		return nil, err
	}
	l, err := d.launcher(!d.direct(), func(gpu mtl.Device) (mtl.Library, string, error) { return d.library(gpu, b, functions) })
	if err != nil {
		return nil, fmt.Errorf("bundle %s: %w", b.Name, err)
	}
	l.compiler.persistent = persistent(b)
	return l, nil
}

func (d *Device) launcher(indirect bool, library func(mtl.Device) (mtl.Library, string, error)) (*Launcher, error) {
	l := &Launcher{pipelines: map[string]mtl.Pipeline{}, indirect: indirect, warm: d.Family < 9}
	err := mtl.Pool(func() (err error) {
		if l.gpu, err = mtl.NewSystemDevice(); err != nil {
			return err
		}
		if l.queue, err = l.gpu.NewQueue(); err != nil {
			return err
		}
		l.compiler.gpu, l.compiler.info = l.gpu, &d.Info
		l.compiler.library, l.origin, err = library(l.gpu)
		return err
	})
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// Origin is the path of the compiled library with the kernels, or FromSource.
func (l *Launcher) Origin() string { return l.origin }

// Close releases all objects.
func (l *Launcher) Close() {
	if l.stuck {
		return
	}
	_ = mtl.Pool(func() error {
		for _, p := range l.pipelines {
			p.Release()
		}
		l.pipelines = nil
		l.compiler.library.Release()
		l.queue.Release()
		l.gpu.Release()
		return nil
	})
}

// Launch implements device.Launcher.
func (l *Launcher) Launch(c *device.Launch) error {
	b, err := l.batch([]job{{c.Variant.Func, c.Groups, c.Threads, c.Buffers, false}})
	if err == nil {
		err = b.run()
	}
	b.release()
	return err
}

// job is one launch. Jobs with the same host buffer share its copy.
type job struct {
	function        string
	groups, threads int
	buffers         [][]byte
	barrier         bool // wait for all earlier jobs
}

// batch is jobs that can run repeatedly on copies of their buffers.
type batch struct {
	*Launcher
	jobs   []job
	copies []mtl.Buffer
	host   [][]byte      // the originals of the copies
	of     map[*byte]int // index of a copy, by the original's first byte
	icb    mtl.Indirect
	// resident has the memory that replays use; without it each replay declares its buffers.
	resident mtl.ResidencySet
	seconds  float64      // how long the GPU was busy with the last run
	first    []mtl.Buffer // see with
}

// batch creates all objects for the jobs. After an error, too, the caller must release the result.
func (l *Launcher) batch(jobs []job) (*batch, error) {
	b := &batch{Launcher: l, jobs: jobs, of: map[*byte]int{}}
	err := mtl.Pool(func() error {
		for _, j := range jobs {
			if err := l.prepare(j.function, j.threads); err != nil {
				return err
			}
			for _, host := range j.buffers {
				if err := b.add(host); err != nil {
					return err
				}
			}
		}
		if l.indirect {
			return b.record()
		}
		return nil
	})
	return b, err
}

// prepare creates the pipeline of a function.
func (l *Launcher) prepare(function string, threads int) error {
	if _, ok := l.pipelines[function]; ok {
		return nil
	}
	p, err := l.compiler.pipeline(function, threads)
	if err != nil {
		p.Release()
		return fmt.Errorf("kernel %s: %w", function, err)
	}
	l.pipelines[function] = p
	return nil
}

// add allocates the copy of a buffer, if there is none yet.
func (b *batch) add(host []byte) error {
	if _, ok := b.of[&host[0]]; ok {
		return nil
	}
	c, err := b.gpu.NewBuffer("a kernel's argument", uint64(len(host)), mtl.StorageShared)
	if err != nil {
		return err
	}
	b.of[&host[0]] = len(b.copies)
	b.copies, b.host = append(b.copies, c), append(b.host, host)
	return nil
}

// record writes the jobs into an ICB.
func (b *batch) record() (err error) {
	bindings := 0
	for _, j := range b.jobs {
		bindings = max(bindings, len(j.buffers))
	}
	if b.icb, err = b.gpu.NewIndirect(len(b.jobs), bindings); err != nil {
		return err
	}
	for i, j := range b.jobs {
		to := b.icb.At(i)
		to.SetPipeline(b.pipelines[j.function])
		for at, host := range j.buffers {
			to.SetBuffer(b.copies[b.of[&host[0]]], 0, at)
		}
		if j.barrier {
			to.Barrier()
		}
		to.Dispatch(size(j.groups), size(j.threads))
	}
	return nil
}

// run copies the buffers to the GPU, runs the jobs in one command buffer, and copies the buffers back.
func (b *batch) run() error {
	return mtl.Pool(func() error {
		for i, host := range b.host {
			copy(b.copies[i].Bytes(), host)
		}
		commands, err := b.queue.NewCommands()
		if err != nil {
			return err
		}
		e, err := commands.Encoder()
		if err != nil {
			commands.Release()
			return err
		}
		if b.indirect {
			b.execute(e)
		} else {
			b.direct(e)
		}
		e.End()
		commands.Commit()
		err = commands.Wait(waitLimit, nil) // a stage has a time limit of its own
		if errors.As(err, new(*mtl.StuckError)) {
			b.stuck = true // the GPU may still use the commands and all of their memory
			return err
		}
		if err == nil {
			b.seconds = commands.Seconds()
		}
		commands.Release()
		if err != nil {
			return err
		}
		for i, host := range b.host {
			copy(host, b.copies[i].Bytes())
		}
		return nil
	})
}

// with is run with further buffers, which are not copied, before those of each job.
func (b *batch) with(first []mtl.Buffer) error {
	b.first = first
	return b.run()
}

func (b *batch) direct(e mtl.Encoder) {
	for _, j := range b.jobs {
		if j.barrier {
			e.Barrier()
		}
		e.SetPipeline(b.pipelines[j.function])
		for at, own := range b.first {
			e.SetBuffer(own, 0, at)
		}
		for at, host := range j.buffers {
			e.SetBuffer(b.copies[b.of[&host[0]]], 0, len(b.first)+at)
		}
		e.Dispatch(size(j.groups), size(j.threads))
	}
}

func (b *batch) execute(e mtl.Encoder) {
	if b.resident.Nil() {
		e.Use(b.copies, mtl.UsageReadWrite)
	}
	if b.warm {
		for _, j := range b.jobs {
			e.SetPipeline(b.pipelines[j.function])
			e.Dispatch(mtl.GridSize{}, mtl.GridSize{})
		}
	}
	e.Execute(b.icb, 0, len(b.jobs))
}

// release releases the copies and the ICB, but not the pipelines.
func (b *batch) release() {
	if b.stuck {
		return
	}
	_ = mtl.Pool(func() error {
		b.unreside()
		b.icb.Release()
		for i := range b.copies {
			b.copies[i].Release()
		}
		return nil
	})
}
