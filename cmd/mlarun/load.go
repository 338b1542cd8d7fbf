package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/device/linalg"
	"mla/runtime/engine"
	"mla/runtime/gguf"
	"mla/runtime/plan"
)

// loaded is a model that is ready to run.
type loaded struct {
	*engine.Session // its only one; nil if it is for several
	model           *engine.Model
	engine          *engine.Engine
	flags           *flags
	load            time.Duration
}

// open maps the model file and chooses its bundle. Where -device auto finds an NVIDIA
// GPU for which the program has no kernels of the bundle, the CPU runs the model.
func (f *flags) open() (*engine.Engine, error) {
	openDevice, ok := f.env.devices[f.device]
	if !ok {
		return nil, f.wrong("-device: %q is not available in this build; it has %s", f.device, deviceNames(f.env))
	}
	if err := f.chooseBackend(); err != nil {
		return nil, err
	}
	d, err := openDevice(f)
	if err != nil {
		return nil, err
	}
	if separate, ok := d.(device.Separate); !ok || !separate.OwnMemory() {
		f.inHost = true
	}
	eng, err := f.openOn(d)
	if err != nil || f.device != "auto" || d.Class() != plan.ClassNVIDIA {
		return eng, err
	}
	lacks := f.finder().HasPTX(eng.Bundle())
	if lacks == nil {
		return eng, nil
	}
	f.note("%v\nso the CPU runs the model\n", lacks)
	if err := eng.Close(); err != nil {
		return nil, err
	}
	return f.openOn(cpu.New())
}

// openOn maps the model file and chooses the bundle that the device runs.
func (f *flags) openOn(d device.Device) (*engine.Engine, error) {
	file, err := f.openModel()
	if err != nil {
		return nil, err
	}
	eng, err := f.engineOn(d, file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return eng, nil
}

func (f *flags) engineOn(d device.Device, file *gguf.File) (*engine.Engine, error) {
	if err := runnable(file); err != nil {
		return nil, err
	}
	b, err := f.choose(file, d.Class())
	if err != nil {
		return nil, err
	}
	if d, err = f.withLibrary(d, b); err != nil {
		return nil, err
	}
	eng, err := engine.New(file, b, d)
	if err != nil {
		return nil, err
	}
	return eng, f.predict(eng)
}

// chooseBackend sets the CPU's inner loops.
func (f *flags) chooseBackend() error {
	if f.simd == "" {
		return nil
	}
	if err := linalg.SetBackend(f.simd); err != nil {
		return f.wrong("-simd: %v", err)
	}
	return nil
}

// room is what a model is loaded for.
type room struct{ context, sessions, pages int }

// load opens the model and a session whose context is what size returns for the
// model's greatest, after a look at the memory that it takes.
func (f *flags) load(size func(most int) int) (*loaded, error) {
	l, err := f.loadFor(func(eng *engine.Engine) (room, error) { return room{context: size(eng.MaxContext())}, nil })
	if err != nil {
		return nil, err
	}
	if l.Session, err = l.model.NewSession(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// loadFor opens the model for as many sessions as size says, and opens none.
func (f *flags) loadFor(size func(*engine.Engine) (room, error)) (*loaded, error) {
	start := time.Now()
	if _, err := f.config(1); err != nil {
		return nil, err
	}
	eng, err := f.open()
	if err != nil {
		return nil, err
	}
	model, err := f.loadInto(eng, size)
	if err != nil {
		return nil, errors.Join(err, eng.Close())
	}
	return &loaded{model: model, engine: eng, flags: f, load: time.Since(start)}, nil
}

func (f *flags) loadInto(eng *engine.Engine, size func(*engine.Engine) (room, error)) (*engine.Model, error) {
	r, err := size(eng)
	if err != nil {
		return nil, err
	}
	cfg, err := f.config(r.context)
	if err != nil {
		return nil, err
	}
	cfg.Tables, cfg.Pages = r.sessions, r.pages
	cfg.Width = f.rows(eng.Bundle())
	if err := f.fits(eng, cfg); err != nil {
		return nil, err
	}
	return f.record(eng, cfg)
}

// rows is how many rows of a bundle run side by side at most.
func (f *flags) rows(b *plan.Bundle) int { return cmp.Or(f.width, b.Width()) }

// private makes the session one that runs all it is asked for, as a measurement wants.
func (l *loaded) private() (err error) {
	if err = l.Session.Close(); err == nil {
		l.Session, err = l.model.NewPrivateSession()
	}
	return err
}

// fits prints the memory estimate and refuses what cannot fit.
func (f *flags) fits(eng *engine.Engine, cfg device.Config) error {
	memory, err := eng.Estimate(cfg)
	if err != nil {
		return err
	}
	b := eng.Bundle()
	f.note("%s with bundle %s%s (%s) on %s, context %d\nmemory: %s\n", filepath.Base(f.model), b.Name, f.from(b), f.kindOf(b), eng.Device().Name(), cfg.Context, memory)
	f.note("%s", otherClass(b, eng.Device().Class()))
	if err := memory.Check(); err != nil && !f.force {
		return fmt.Errorf("%w\n%s", err, f.advice(memory))
	}
	return nil
}

// runnable refuses a file that no bundle can be made for.
func runnable(file *gguf.File) error {
	h, err := gguf.ReadHParams(file)
	if err != nil {
		return err
	}
	return file.CheckTypes(&h)
}

// otherClass says if a bundle is for other devices than those of a class.
func otherClass(b *plan.Bundle, class string) string {
	if b.Class == "" || class == "" || b.Class == class {
		return ""
	}
	return fmt.Sprintf("the shapes of its kernels are for devices of class %s, not %s\n", b.Class, class)
}

// record binds the weights and records the sequence.
func (f *flags) record(eng *engine.Engine, cfg device.Config) (*engine.Model, error) {
	p := f.progress("loading")
	defer p.clear()
	p.show("")
	// Reading ahead is only faster, never needed.
	if err := eng.File().Prefetch(); err != nil {
		f.note("%v\n", err)
	}
	cfg.Progress = p.bytes
	return eng.Load(cfg)
}

// note prints on stderr unless -quiet.
func (f *flags) note(format string, args ...any) {
	if f.quiet {
		return
	}
	text := fmt.Sprintf(format, args...)
	if _, ok := terminal(f.env.err); ok {
		text = broken(text, f.env.columns())
	}
	fmt.Fprint(f.env.err, text)
}

// fileBytes is the size of the model file, with all its parts.
func (l *loaded) fileBytes() (n int64) {
	for _, s := range l.engine.File().Shards {
		n += int64(len(s.Data))
	}
	return n
}

// Close ends all sessions and unmaps the file.
func (l *loaded) Close() error { return errors.Join(l.model.Close(), l.engine.Close()) }

// closing closes c when a command ends and adds its error to the command's.
func closing(c interface{ Close() error }, err *error) { *err = errors.Join(*err, c.Close()) }
