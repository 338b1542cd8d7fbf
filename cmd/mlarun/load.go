package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"mla/runtime/device"
	"mla/runtime/device/linalg"
	"mla/runtime/device/metal"
	"mla/runtime/engine"
	"mla/runtime/engine/opening"
	"mla/runtime/gguf"
	"mla/runtime/plan"
)

// loaded is a model that is ready to run.
type loaded struct {
	*engine.Session // the model's only session; nil if the model is loaded for several
	model           *engine.Model
	engine          *engine.Engine
	flags           *flags
	load            time.Duration
}

// open maps the model file and chooses its bundle, on the device of -device, or on the first device of
// -device auto that runs the model.
func (f *flags) open() (*engine.Engine, error) {
	candidates, err := f.candidates()
	if err != nil {
		return nil, err
	}
	if err := f.chooseBackend(); err != nil {
		return nil, err
	}
	eng, err := opening.Open(opening.Options{
		File: func(first device.Device) (*gguf.File, error) {
			if separate, ok := first.(device.Separate); !ok || !separate.OwnMemory() {
				f.inHost = true
			}
			return f.openModel()
		},
		Bundles: f.finder(), Bundle: f.bundle, Act: f.bundleAct(), Exact: f.exact, Cache: metal.CacheFolder(), Devices: candidates, Draft: f.drafting().Layer("-draft " + opening.MTP),
		Say: func(line string) { f.say("%s\n", line) }, Detail: f.detail(),
		Note: func(reason error, next string) {
			what := "the CPU runs the model"
			if next != "cpu" {
				what = "-device " + next + " is tried"
			}
			f.say("%v\nso %s\n", reason, what)
		},
	})
	f.noteMisfit(err)
	return eng, err
}

// detail returns the function that prints details for -v; nil without -v.
func (f *flags) detail() func(string) {
	if !f.isVerbose() {
		return nil
	}
	return func(line string) { f.say("%s\n", line) }
}

// chooseBackend selects the CPU's inner loops.
func (f *flags) chooseBackend() error {
	if f.simd == "" {
		return nil
	}
	if err := linalg.SetBackend(f.simd); err != nil {
		return f.wrong("-simd: %v", err)
	}
	return nil
}

// capacity is the capacity with which a model is loaded.
type capacity struct {
	context, sessions, pages int
	why                      string // why the context is no longer; "": it was requested
}

// capacityFor returns the capacity for sessions of a context; 0: as long as the model and free bytes of
// memory allow.
func (f *flags) capacityFor(eng *engine.Engine, context, sessions int, free int64) (capacity, error) {
	r := capacity{context: context, sessions: sessions}
	if context == 0 {
		cfg, err := f.configFor(eng, r)
		if err != nil {
			return r, err
		}
		chosen, err := eng.Capacity(cfg, sessions, free)
		if err != nil {
			return r, err
		}
		r.context, r.why = chosen.Context, " ("+chosen.Why+")"
	}
	r.pages = engine.PagesOf(sessions, r.context)
	return r, nil
}

// load opens the model and a session. size returns the context, given the model's greatest. It checks the
// memory first.
func (f *flags) load(size func(most int) int) (*loaded, error) {
	l, err := f.loadFor(func(eng *engine.Engine) (capacity, error) { return capacity{context: size(eng.MaxContext())}, nil })
	if err != nil {
		return nil, err
	}
	if l.Session, err = l.model.NewSession(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// loadFor opens the model with the capacity that size returns, without a session.
func (f *flags) loadFor(size func(*engine.Engine) (capacity, error)) (*loaded, error) {
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

func (f *flags) loadInto(eng *engine.Engine, size func(*engine.Engine) (capacity, error)) (*engine.Model, error) {
	r, err := size(eng)
	if err != nil {
		return nil, err
	}
	cfg, err := f.configFor(eng, r)
	if err != nil {
		return nil, err
	}
	if err := f.fits(eng, cfg, r.why); err != nil {
		return nil, err
	}
	return f.record(eng, cfg)
}

// configFor returns the configuration of a model with a capacity.
func (f *flags) configFor(eng *engine.Engine, r capacity) (device.Config, error) {
	cfg, err := f.config(r.context)
	cfg.Tables, cfg.Pages, cfg.Width = r.sessions, r.pages, f.rows(eng.Bundle())
	return cfg, err
}

// rows returns the greatest number of rows of a bundle that run side by side.
func (f *flags) rows(b *plan.Bundle) int { return cmp.Or(f.width, b.Width()) }

// private makes the session recompute everything that is requested, as a measurement requires.
func (l *loaded) private() (err error) {
	if err = l.Session.Close(); err == nil {
		l.Session, err = l.model.NewPrivateSession()
	}
	return err
}

// fits prints the memory estimate and refuses what cannot fit.
func (f *flags) fits(eng *engine.Engine, cfg device.Config, why string) error {
	memory, err := eng.Estimate(cfg)
	if err != nil {
		return err
	}
	b := eng.Bundle()
	f.say("%s with bundle %s%s (%s) on %s, context %d%s\nmemory: %s\n", filepath.Base(f.model), b.Name, f.from(b), f.kindOf(b), eng.Device().Name(), cfg.Context, why, memory)
	f.note("%s", otherClass(b, eng.Device().Class()))
	if err := memory.Check(); err != nil && !f.force {
		return fmt.Errorf("%w\n%s", err, f.advice(memory, eng.Fitting(cfg, cfg.Tables, engine.Available())))
	}
	return nil
}

// otherClass describes a bundle that is made for devices of another class; "" otherwise.
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
	// Prefetching only saves time, so its failure is not an error.
	if err := eng.File().Prefetch(); err != nil {
		f.note("%v\n", err)
	}
	cfg.Progress = p.bytes
	m, err := eng.Load(cfg)
	if most := eng.Fitting(cfg, cfg.Tables, eng.Free()); err != nil && most > 0 && most < cfg.Context {
		err = fmt.Errorf("%w\n-c %d fits", err, most)
	}
	return m, err
}

// note prints on stderr unless -quiet is set.
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

// fileBytes returns the size of the model file, including all its parts.
func (l *loaded) fileBytes() (n int64) {
	for _, s := range l.engine.File().Shards {
		n += int64(len(s.Data))
	}
	return n
}

// Close ends all sessions and unmaps the file.
func (l *loaded) Close() error { return errors.Join(l.model.Close(), l.engine.Close()) }

// closing closes c when a command ends and adds its error to the command's error.
func closing(c interface{ Close() error }, err *error) { *err = errors.Join(*err, c.Close()) }
