package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"mla/runtime/device"
	"mla/runtime/device/cuda"
	"mla/runtime/device/linalg"
	"mla/runtime/device/metal"
	"mla/runtime/device/metal/trust"
	"mla/runtime/doctor/check"
	"mla/runtime/engine"
	"mla/runtime/plan"
)

// patient is what the doctor examines: a device.
type patient struct {
	kind  string // a value of -device
	class string // of the device, see plan.Classes
	// kernels is the kernel class of the device, see plan.Kernel.
	kernels string
	facts   []fact
	// launcher makes functions of a bundle ready; done releases them.
	launcher func(b *plan.Bundle, functions []string) (l device.Launcher, done func(), err error)
	// runs says why a bundle's kernels cannot be made ready on this system; nil: it has all.
	runs func(b *plan.Bundle) error
	// sampler says that the device picks tokens by itself.
	sampler bool
	metal   *metal.Device // nil: the device is another
}

// fact is a line of the report.
type fact struct{ name, value string }

// virtual tells whether the GPU is a virtual machine's.
func (p *patient) virtual() bool { return p.metal != nil && p.metal.Virtual }

// patients open the devices that can be examined.
var patients = map[string]func(f *doctorFlags) (*patient, error){"auto": defaultPatient, "cpu": cpuPatient, "cuda": cudaPatient, "metal": metalPatient}

// defaultPatient is an NVIDIA GPU where there is one, else the CPU. Where there is
// Metal it is not asked.
func defaultPatient(f *doctorFlags) (*patient, error) {
	p, err := cudaPatient(f)
	if cuda.Absent(err) {
		return cpuPatient(f)
	}
	return p, err
}

// cpuPatient compares the inner loops of this machine with plain Go.
func cpuPatient(*doctorFlags) (*patient, error) {
	return &patient{
		kind: "cpu",
		facts: []fact{
			{"device", "cpu"},
			{"cores", fmt.Sprint(runtime.GOMAXPROCS(0))},
			{"inner loops", linalg.Backend() + ", compared with plain Go"},
		},
		launcher: func(*plan.Bundle, []string) (device.Launcher, func(), error) { return plainGo{}, func() {}, nil },
	}, nil
}

// plainGo runs the twins without assembly.
type plainGo struct{}

// Launch implements device.Launcher.
func (plainGo) Launch(l *device.Launch) error {
	before := linalg.Backend()
	if err := linalg.SetBackend("go"); err != nil {
		return err
	}
	return errors.Join(check.Twins{}.Launch(l), linalg.SetBackend(before))
}

// metalPatient examines the GPU.
func metalPatient(f *doctorFlags) (*patient, error) {
	d, err := metal.Open(metalOptions(f.flags))
	if err != nil {
		return nil, err
	}
	return &patient{
		kind:    "metal",
		metal:   d,
		class:   d.Class(),
		kernels: d.KernelClass(),
		facts:   append(metalFacts(d), fact{"replay", f.expectedReplay(d)}),
		launcher: func(b *plan.Bundle, functions []string) (device.Launcher, func(), error) {
			l, err := d.NewLauncher(b, functions)
			if err != nil {
				return nil, nil, err
			}
			return l, l.Close, nil
		},
		runs:    d.Runs,
		sampler: true,
	}, nil
}

func metalFacts(d *metal.Device) []fact {
	family := "none known"
	if d.Family > 0 {
		family = fmt.Sprintf("Apple%d", d.Family)
	}
	return []fact{
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

// expectedReplay says how -replay auto would replay, without a test.
func (f *doctorFlags) expectedReplay(d *metal.Device) string {
	verdict, kept := trust.Kept(metal.CacheFolder(), trust.ICB, metal.Key(&d.Info, f.metalLib))
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
