package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"mla/runtime/device"
	"mla/runtime/device/check"
	"mla/runtime/device/cuda"
	"mla/runtime/device/cuda/cu"
	"mla/runtime/device/metal"
	"mla/runtime/engine"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// defaultPatient is Metal where there is Metal, an NVIDIA GPU where there is one,
// else the CPU.
func defaultPatient(f *flags) (*patient, error) {
	if runtime.GOOS == "darwin" || f.metalLib != "" {
		return metalPatient(f)
	}
	p, err := cudaPatient(f)
	if errors.Is(err, cu.ErrNoDriver) || errors.Is(err, cuda.ErrNoDevice) {
		return cpuPatient(f)
	}
	return p, err
}

// cpuPatient compares the inner loops of this machine with plain Go.
func cpuPatient(f *flags) (*patient, error) {
	if err := f.chooseBackend(); err != nil {
		return nil, err
	}
	return &patient{
		facts: []fact{
			{"device", "cpu"},
			{"cores", fmt.Sprint(runtime.GOMAXPROCS(0))},
			{"inner loops", quant.Backend() + ", compared with plain Go"},
		},
		launcher: func(*plan.Bundle, []string) (check.Launcher, func(), error) { return plainGo{}, func() {}, nil },
	}, nil
}

// plainGo runs the twins without assembly.
type plainGo struct{}

// Launch implements check.Launcher.
func (plainGo) Launch(l *check.Launch) error {
	before := quant.Backend()
	if err := quant.SetBackend("go"); err != nil {
		return err
	}
	return errors.Join(check.Twins{}.Launch(l), quant.SetBackend(before))
}

// metalPatient examines the GPU.
func metalPatient(f *flags) (*patient, error) {
	d, err := metal.Open(metalOptions(f))
	if err != nil {
		return nil, err
	}
	tests := []selfTest{
		{name: "direct encoding", run: func() error { return d.SelfTest(metal.ReplayEncode) }},
		{name: "indirect command buffer", run: func() error { return d.SelfTest(metal.ReplayICB) }},
		{name: "residency set: buffers", run: d.ResidencyBuffers},
		{name: "residency set: indirect command buffer", run: d.ResidencyIndirect},
		{name: "residency set: pipelines", run: d.ResidencyPipelines},
	}
	// Virtual GPUs are known to break indirect command buffers, and the runtime
	// does without there; -replay icb tries all the same.
	if d.Virtual && f.replay != string(metal.ReplayICB) {
		for _, t := range []*selfTest{&tests[1], &tests[3], &tests[4]} {
			t.run, t.why = nil, "the GPU is virtual; -replay icb tries it"
		}
	}
	for i := range tests[2:] {
		if t := &tests[2+i]; !d.ResidencySets {
			t.run, t.why = nil, "it needs macOS 15"
		}
	}
	return &patient{
		class: d.Class(),
		facts: metalFacts(d),
		tests: tests,
		launcher: func(b *plan.Bundle, functions []string) (check.Launcher, func(), error) {
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
	threads := "unknown"
	if n, width, err := d.Limits(); err == nil {
		threads = fmt.Sprintf("%d, in simdgroups of %d", n, width)
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
		{"threads per threadgroup", threads},
		{"threadgroup memory", fmt.Sprintf("%d B", d.MaxThreadgroupMemory)},
		{"shading language", d.Language()},
		{"residency sets", yesNo(d.ResidencySets)},
		{"replay", string(d.HowReplayed())},
	}
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
