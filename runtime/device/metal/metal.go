// Package metal replays plans on Apple GPUs. A token is one command buffer that
// executes an indirect command buffer (ICB), recorded once: every dispatch of
// the plan with its pipeline, its buffers and the plan's barriers. Where the GPU
// is virtual or its ICBs are not known to work, or on request, the dispatches are
// encoded anew for every token.
//
// Weights stay where the file is mapped: window.go cuts the mapping into buffers.
// layout.go and sequence.go say what a recording needs, without Metal;
// build.go makes the Metal objects; runner.go replays them.
//
// # What is compiled
//
// Metal's compiler gets only the kernels that a file needs, with their helpers: gen/msl/mark marks
// every declaration, runtime/plan/pieces cuts at the marks. What the compiler makes is archived in
// the background, after the first token. Sequences with kernels that the GPU cannot run are left out
// (Device.Load).
//
// # Long work
//
// macOS ends command buffers that keep the GPU busy for long. So work of many rows goes to the GPU
// in pieces (cutting.go) of a predicted time (pace.go, by device.Work and runtime/device/chips). If
// the system ends one, it runs once more on a GPU that is opened anew (submit.go, rebuild.go).
//
// # Without a Mac
//
// On Linux the package talks to sim/metal, which implements the Objective-C messages of
// mtl/selectors.go and runs shaders through sim/exec. A test holds the messages, and the numbers sent
// with them, to rows of Apple's headers in mtl/testdata.
package metal

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"mla/runtime/device"
	"mla/runtime/device/chips"
	"mla/runtime/device/metal/mtl"
	"mla/runtime/plan"
)

// Replay says how a token's dispatches reach the GPU.
type Replay string

// The ways to replay.
const (
	ReplayAuto   Replay = "auto"   // an ICB where Options.Trusted says so, else direct encoding
	ReplayICB    Replay = "icb"    // one ICB recorded in advance
	ReplayEncode Replay = "encode" // every dispatch encoded for every token
)

// Options say how to open the device.
type Options struct {
	// Library stands in for Apple's frameworks; "" opens those.
	Library string
	Replay  Replay // "" is ReplayAuto
	// Trusted tells whether ICBs work on a GPU. It is asked once, by Open, for
	// ReplayAuto on a GPU that is not virtual. It has to know from elsewhere: a GPU or
	// a system where they do not may end the process that tries (rule 18). nil: they
	// are not used.
	Trusted func(*Info) bool
	// Compiled is a folder that may hold NAME.metallib for a bundle, see
	// [LibraryName]; "": kernels are always compiled from the bundle's source.
	Compiled string
	// Cache is a folder for what the GPU's compiler made, and for what is known of how long the
	// system lets commands run; "": none is kept.
	Cache string
	// Note tells the user something, once for a Device; nil: nobody is told.
	Note func(format string, args ...any)
}

// CacheFolder is where a user's programs keep what is quicker to read than to find out anew,
// for Options.Cache; "" where the user has no such place.
func CacheFolder() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "mla")
}

// Info describes a GPU and its system.
type Info struct {
	Name, OS             string
	Family               int // newest Apple family it belongs to, as 7 for M1; 0: none
	Virtual              bool
	UnifiedMemory        bool
	MaxBuffer, MaxMemory uint64 // bytes: of one buffer, of all
	MaxThreadgroupMemory uint64 // bytes
	ResidencySets        bool   // macOS 15
}

// Device implements device.Device.
type Device struct {
	Info
	options Options
	how     Replay // ReplayICB or ReplayEncode
	cores   func() int
	said    sync.Map // what the user was told
}

// say tells the user, once.
func (d *Device) say(format string, args ...any) {
	if _, before := d.said.LoadOrStore(fmt.Sprintf(format, args...), true); !before && d.options.Note != nil {
		d.options.Note(format, args...)
	}
}

// Open loads Metal and checks that system and GPU can run the kernels. It holds
// nothing afterwards: every runner opens the GPU for itself.
func Open(o Options) (*Device, error) {
	switch o.Replay {
	case "":
		o.Replay = ReplayAuto
	case ReplayAuto, ReplayICB, ReplayEncode:
	default:
		return nil, fmt.Errorf("replay is %q; expected %s, %s or %s", o.Replay, ReplayAuto, ReplayICB, ReplayEncode)
	}
	if err := mtl.Load(o.Library); err != nil {
		return nil, err
	}
	d := &Device{options: o}
	d.cores = sync.OnceValue(func() int { return chips.Cores(d.Info.Name, chips.System) })
	err := mtl.Pool(func() error {
		if !mtl.OSAtLeast(14) {
			return fmt.Errorf("the device needs macOS 14 or later, for version 3.1 of the shading language; this is %s", mtl.OSVersion())
		}
		gpu, err := mtl.NewSystemDevice()
		if err != nil {
			return err
		}
		defer gpu.Release()
		d.Info = inspect(gpu)
		return d.refusal()
	})
	if err != nil {
		return nil, err
	}
	if d.how = o.Replay; d.how == ReplayAuto {
		d.how = ReplayEncode
		if !d.Virtual && o.Trusted != nil && o.Trusted(&d.Info) {
			d.how = ReplayICB
		}
	}
	return d, nil
}

// inspect asks a GPU for what Info holds.
func inspect(gpu mtl.Device) Info {
	i := Info{
		Name: gpu.Name(), OS: mtl.OSVersion(), UnifiedMemory: gpu.UnifiedMemory(),
		MaxBuffer: gpu.MaxBufferLength(), MaxMemory: gpu.MaxWorkingSet(),
		MaxThreadgroupMemory: gpu.MaxThreadgroupMemory(), ResidencySets: mtl.OSAtLeast(15),
	}
	i.Virtual = strings.Contains(i.Name, "Paravirtual")
	// Apple's documentation of macOS 27 names one more than the headers that the constants are from.
	for family := mtl.Apple1; family <= mtl.Apple10+1; family++ {
		if gpu.Supports(family) {
			i.Family = family - mtl.Apple1 + 1
		}
	}
	return i
}

// refusal says why the kernels cannot run on a GPU, nil if they may (rule 15). A
// virtual GPU says that it belongs to an old family and is let through: what it
// cannot do shows when a pipeline is made. Intel's GPUs share the CPU's memory, but
// belong to no family of Apple's.
func (i *Info) refusal() error {
	switch {
	case !i.UnifiedMemory:
		return fmt.Errorf("%s has memory of its own; weights stay where the file is mapped, so the runtime needs a GPU that shares the CPU's memory: an M1 or later", i.Name)
	case i.Family < 7 && !i.Virtual:
		return fmt.Errorf("%s is not supported; the kernels need an Apple GPU of family 7 (M1) or later", i.Name)
	}
	return nil
}

// Name implements device.Device.
func (d *Device) Name() string { return d.Info.Name }

// Class implements device.Device.
func (d *Device) Class() string { return plan.ClassApple }

// Free implements device.Limited. The system gives GPUs no more than what it recommends.
func (d *Device) Free() int64 { return int64(min(d.MaxMemory, math.MaxInt64)) }

// Takes implements device.Device.
func (d *Device) Takes(l *device.Layout) int64 { return takes(l) }

// KernelClass is the kernel class of the GPU, "": none. A virtual GPU does not say
// what it runs on, so it is counted among those that have less.
func (d *Device) KernelClass() string {
	if d.Family < 9 {
		return plan.ClassApple7
	}
	return ""
}

// HowReplayed is how the device replays tokens: ReplayICB or ReplayEncode.
func (d *Device) HowReplayed() Replay { return d.how }

// direct tells whether dispatches are encoded anew for every token.
func (d *Device) direct() bool { return d.how == ReplayEncode }

// Runs says why the system cannot compile a bundle's kernels, nil if it can.
func (d *Device) Runs(b *plan.Bundle) error {
	return b.HasSource()
}

// Load implements device.Device. The runner is for one goroutine at a time. Sequences of several
// rows whose kernels the GPU cannot run are left out, the widest first.
func (d *Device) Load(m *device.Model, cfg device.Config) (device.Runner, error) {
	if err := d.Runs(m.Bundle); err != nil {
		return nil, err
	}
	for {
		r, s, err := d.load(m, cfg)
		failed := kernelsError(nil)
		if err == nil {
			return r, nil
		}
		width := 0
		if errors.As(err, &failed) {
			width = s.narrower(failed)
		}
		if width == 0 {
			return nil, err
		}
		d.say("%v\nso the GPU runs at most %d rows at a time, not %d; prompts take longer. mlarun doctor -device metal -report FILE writes what a report needs\n", err, width, s.width)
		cfg.Width = width
	}
}

// load is Load with all sequences. The sequence may be there although there is an error.
func (d *Device) load(m *device.Model, cfg device.Config) (*runner, *sequence, error) {
	l, err := newLayout(m, cfg, int64(min(d.MaxBuffer, maxWindow)))
	if err != nil {
		return nil, nil, fmt.Errorf("bundle %s: %w", m.Bundle.Name, err)
	}
	s, err := newSequence(m, cfg, l, d.KernelClass())
	if err != nil {
		return nil, nil, err
	}
	if err := l.fits(&d.Info); err != nil {
		return nil, s, fmt.Errorf("bundle %s: %w", m.Bundle.Name, err)
	}
	r, err := d.build(m, cfg, l, s)
	if err != nil {
		return nil, s, fmt.Errorf("bundle %s: %w", m.Bundle.Name, err)
	}
	return r, s, nil
}
