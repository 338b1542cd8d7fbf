// Package patient describes the devices that the doctor examines, with their facts.
package patient

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"mla/runtime/device"
	"mla/runtime/device/blas"
	"mla/runtime/device/cuda"
	"mla/runtime/device/cuda/cu"
	"mla/runtime/device/linalg"
	"mla/runtime/device/metal"
	"mla/runtime/device/metal/trust"
	"mla/runtime/doctor/check"
	"mla/runtime/engine"
	"mla/runtime/plan"
)

// Patient is a device under examination.
type Patient struct {
	Kind  string // a value of -device
	Class string // class of the device, see plan.Classes
	// Kernels is the kernel class of the device, see plan.Kernel.
	Kernels string
	Facts   []Fact
	// Launcher prepares functions of a bundle. done releases them.
	Launcher func(b *plan.Bundle, functions []string) (l device.Launcher, done func(), err error)
	// Runs returns why a bundle's kernels cannot be prepared on this system; nil: they can.
	Runs func(b *plan.Bundle) error
	// Sampler says whether the device picks tokens itself.
	Sampler bool
	Metal   *metal.Device // nil: the device is not a Metal device
}

// Fact is one line of the report.
type Fact struct{ Name, Value string }

// Virtual says whether the GPU belongs to a virtual machine.
func (p *Patient) Virtual() bool { return p.Metal != nil && p.Metal.Virtual }

// CPU is the processor of this machine: its inner loops and the system's library of matrix products are
// compared with plain Go.
func CPU() *Patient {
	loops := linalg.Backend()
	if name := blas.Always(); name != "" {
		loops += fmt.Sprintf(", for %d rows and more %s", linalg.LibraryInputs, name)
	}
	return &Patient{
		Kind: "cpu",
		Facts: []Fact{
			{"device", "cpu"},
			{"cores", fmt.Sprint(runtime.GOMAXPROCS(0))},
			{"inner loops", loops + ", compared with plain Go"},
		},
		Launcher: func(*plan.Bundle, []string) (device.Launcher, func(), error) { return plainGo{}, func() {}, nil },
	}
}

// plainGo runs the references without assembly.
type plainGo struct{}

// Launch implements device.Launcher.
func (plainGo) Launch(l *device.Launch) error {
	before := linalg.Backend()
	if err := linalg.SetBackend("go"); err != nil {
		return err
	}
	return errors.Join(check.Reference{}.Launch(l), linalg.SetBackend(before))
}

// CUDA is an NVIDIA GPU. hasPTX returns why there are no kernels of a bundle for it; nil: there are.
func CUDA(d *cuda.Device, hasPTX func(*plan.Bundle) error) *Patient {
	return &Patient{
		Kind:  "cuda",
		Class: d.Class(),
		Facts: []Fact{
			{"device", "cuda: " + d.Name()},
			{"driver", "CUDA " + cu.Version(d.Driver)},
			{"compute capability", fmt.Sprintf("%d.%d", d.Major, d.Minor)},
			{"multiprocessors", fmt.Sprint(d.Multiprocessors)},
			{"memory", engine.Size(int64(d.Memory))},
			{"level-2 cache", engine.Size(d.L2)},
		},
		Launcher: func(b *plan.Bundle, _ []string) (device.Launcher, func(), error) {
			l, err := d.NewLauncher(b)
			if err != nil {
				return nil, nil, err
			}
			return l, func() { _ = l.Close() }, nil
		},
		Runs:    hasPTX,
		Sampler: true,
	}
}

// Metal is Apple's GPU. library is the path of the library that replaces Apple's, if any.
func Metal(d *metal.Device, library string) *Patient {
	return &Patient{
		Kind:    "metal",
		Metal:   d,
		Class:   d.Class(),
		Kernels: d.KernelClass(),
		Facts:   append(metalFacts(d), Fact{"replay", expectedReplay(d, library)}),
		Launcher: func(b *plan.Bundle, functions []string) (device.Launcher, func(), error) {
			l, err := d.NewLauncher(b, functions)
			if err != nil {
				return nil, nil, err
			}
			return l, l.Close, nil
		},
		Runs:    d.Runs,
		Sampler: true,
	}
}

func metalFacts(d *metal.Device) []Fact {
	family := "none known"
	if d.Family > 0 {
		family = fmt.Sprintf("Apple%d", d.Family)
	}
	return []Fact{
		{"device", "metal: " + d.Info.Name},
		{"system", d.OS},
		{"GPU family", family},
		{"virtual GPU", yesNo(d.Virtual)},
		{"unified memory", yesNo(d.UnifiedMemory)},
		{"recommendedMaxWorkingSetSize", engine.Size(int64(d.MaxMemory))},
		{"maxBufferLength", engine.Size(int64(d.MaxBuffer))},
		{"page size", fmt.Sprintf("%d B; files are mapped at multiples of %d", os.Getpagesize(), device.MappedAlign)},
		{"threadgroup memory", fmt.Sprintf("%d B", d.MaxThreadgroupMemory)},
		{"shading language", d.Language()},
		{"residency sets", yesNo(d.ResidencySets)},
	}
}

// expectedReplay returns how -replay auto would replay, without a test.
func expectedReplay(d *metal.Device, library string) string {
	verdict, kept := trust.Kept(metal.CacheFolder(), trust.ICB, metal.Key(&d.Info, library))
	switch {
	case d.Virtual:
		return "auto takes encode, as the GPU is virtual"
	case !kept:
		return "auto will test indirect command buffers before it uses them"
	case verdict.OK:
		return "auto takes icb, as a test went well"
	}
	return "auto takes encode, as a test failed: " + verdict.Why
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
