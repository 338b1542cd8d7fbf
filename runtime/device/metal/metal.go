// Package metal replays plans on Apple GPUs. A token is one command buffer that executes an indirect command
// buffer (ICB), which is recorded once: every dispatch of the plan with its pipeline, its buffers and the
// plan's barriers. The dispatches are encoded for every token instead on virtual GPUs, on GPUs whose ICBs are
// not known to work, and on request.
//
// The weights stay in the mapped file: window.go cuts the mapping into buffers. layout.go and sequence.go
// compute what a recording needs, without Metal. build.go creates the Metal objects, and runner.go replays
// them.
//
// # What is compiled
//
// Metal's compiler gets only the kernels that a file needs, with their helpers: gen/msl/mark marks every
// declaration, and runtime/plan/pieces cuts the source at the marks. Compiled pipelines are archived in the
// background, after the first token. Sequences with kernels that the GPU cannot run are left out
// (Device.Load).
//
// # Long work
//
// macOS ends command buffers that keep the GPU busy for too long. So work of many rows is submitted in pieces
// (cutting.go) of a predicted time (pace.go, from device.Work and runtime/device/chips). If the system ends
// one, it runs once more on a GPU that is opened anew (submit.go, rebuild.go).
//
// # Without a Mac
//
// On Linux the package talks to sim/metal, which implements the Objective-C messages of mtl/selectors.go and
// runs shaders in sim/exec. A test compares the messages, and the constants sent with them, with Apple's
// headers, in mtl/testdata.
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

// Replay is how a token's dispatches reach the GPU.
type Replay string

// Values of Replay.
const (
	ReplayAuto   Replay = "auto"   // an ICB if Options.Trusted allows it, else direct encoding
	ReplayICB    Replay = "icb"    // one ICB recorded in advance
	ReplayEncode Replay = "encode" // every dispatch encoded for every token
)

// Options is how to open the device.
type Options struct {
	// Library replaces Apple's frameworks; "" opens those.
	Library string
	Replay  Replay // "" is ReplayAuto
	// Trusted says whether ICBs work on a GPU. Open calls it once for ReplayAuto, unless the GPU is virtual.
	// It must not try ICBs in this process, as a GPU or system with broken ICBs may end the process (rule
	// 18). nil: ICBs are not used.
	Trusted func(*Info) bool
	// Compiled is a folder that may hold NAME.metallib for a bundle, see
	// [LibraryName]; "": kernels are always compiled from the bundle's source.
	Compiled string
	// Cache is a folder for compiled pipelines, and for the time that the system is known to allow command
	// buffers; "": nothing is kept.
	Cache string
	// Note tells the user something, once per Device; nil: messages are dropped.
	Note func(format string, args ...any)
}

// CacheFolder is the folder of this program in the user's cache, for Options.Cache; "" if the user has none.
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
	Family               int // newest Apple family that it supports, such as 7 for M1; 0: none
	Virtual              bool
	UnifiedMemory        bool
	MaxBuffer, MaxMemory uint64 // bytes: of one buffer, of all memory
	MaxThreadgroupMemory uint64 // bytes
	ResidencySets        bool   // macOS 15
}

// Device implements device.Device.
type Device struct {
	Info
	options Options
	how     Replay // ReplayICB or ReplayEncode
	cores   func() int
	said    sync.Map // messages that the user has seen
}

// say shows a message to the user, once.
func (d *Device) say(format string, args ...any) {
	if _, before := d.said.LoadOrStore(fmt.Sprintf(format, args...), true); !before && d.options.Note != nil {
		d.options.Note(format, args...)
	}
}

// Open loads Metal and checks that the system and the GPU can run the kernels. It keeps nothing open: every
// runner opens the GPU for itself.
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

// inspect returns the properties of a GPU.
func inspect(gpu mtl.Device) Info {
	i := Info{
		Name: gpu.Name(), OS: mtl.OSVersion(), UnifiedMemory: gpu.UnifiedMemory(),
		MaxBuffer: gpu.MaxBufferLength(), MaxMemory: gpu.MaxWorkingSet(),
		MaxThreadgroupMemory: gpu.MaxThreadgroupMemory(), ResidencySets: mtl.OSAtLeast(15),
	}
	i.Virtual = strings.Contains(i.Name, "Paravirtual")
	// macOS 27's documentation has one family more than the headers that the constants come from
	for family := mtl.Apple1; family <= mtl.Apple10+1; family++ {
		if gpu.Supports(family) {
			i.Family = family - mtl.Apple1 + 1
		}
	}
	return i
}

// refusal says why the kernels cannot run on a GPU; nil: they may (rule 15). A virtual GPU reports an old
// family, and is accepted: pipelines that it cannot run fail when they are created. Intel's GPUs share the
// CPU's memory, too, but belong to no Apple family.
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

// Free implements device.Limited: the working set size that the system recommends.
func (d *Device) Free() int64 { return int64(min(d.MaxMemory, math.MaxInt64)) }

// Takes implements device.Device.
func (d *Device) Takes(l *device.Layout) int64 { return takes(l) }

// KernelClass is the kernel class of the GPU; "": none. A virtual GPU does not report the real GPU, so it
// gets the kernels for the least capable ones.
func (d *Device) KernelClass() string {
	if d.Family < 9 {
		return plan.ClassApple7
	}
	return ""
}

// HowReplayed is how the device replays tokens: ReplayICB or ReplayEncode.
func (d *Device) HowReplayed() Replay { return d.how }

// direct says whether dispatches are encoded for every token.
func (d *Device) direct() bool { return d.how == ReplayEncode }

// Runs says why the system cannot compile a bundle's kernels; nil: it can.
func (d *Device) Runs(b *plan.Bundle) error {
	return b.HasSource()
}

// Load implements device.Device. Only one goroutine at a time may use the runner. Sequences of several rows
// whose kernels the GPU cannot run are left out, and all wider ones.
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

// load is Load with all sequences. It may return a sequence beside an error.
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
