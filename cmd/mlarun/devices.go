package main

import (
	"os"
	"path/filepath"

	"mla/runtime/device"
	"mla/runtime/device/blas"
	"mla/runtime/device/cpu"
	"mla/runtime/device/cuda"
	"mla/runtime/device/metal"
	"mla/runtime/engine/opening"
)

// openDevice opens the device that a command line selects.
type openDevice func(f *flags) (device.Device, error)

// devices are the values of -device other than auto.
var devices = map[string]openDevice{"cpu": openCPU, "cuda": openCUDA, "metal": openMetal}

// candidates returns the devices that may run the model.
func (f *flags) candidates() ([]opening.Candidate, error) {
	names := []string{f.device}
	if f.device == autoDevice {
		names = f.env.auto
	}
	var list []opening.Candidate
	for _, name := range names {
		open, ok := f.env.devices[name]
		if !ok {
			return nil, f.wrong("-device is %q; this program has %s", f.device, deviceNames(f.env))
		}
		c := opening.Candidate{Name: name, Open: func() (device.Device, error) { return open(f) }, With: f.withLibrary}
		switch {
		case !f.mayBe(name) && f.device == autoDevice:
			continue
		case name == "metal":
			c.Refuses = f.untried
		case name == "cuda":
			c.Absent = func(err error) bool { return f.cudaLib == "" && cuda.Absent(err) }
			c.Lacks = f.finder().HasPTX
		}
		list = append(list, c)
	}
	return list, nil
}

func cudaOptions(f *flags) cuda.Options { return cuda.Options{Library: f.cudaLib, PTX: f.finder().PTX} }

func openCUDA(f *flags) (device.Device, error) {
	d, err := cuda.Open(cudaOptions(f))
	if err != nil {
		return nil, err // do not return a nil *cuda.Device as a device
	}
	return d, nil
}

// openCPU opens the CPU. If the user names inner loops, only those are used.
func openCPU(f *flags) (device.Device, error) {
	if f.simd != "" {
		return cpu.New(), nil
	}
	return blas.CPU(), nil
}

// metalOptions returns the options that the flags set. Compiled libraries are next to the program unless
// -metallib says otherwise.
func metalOptions(f *flags) metal.Options {
	o := metal.Options{Library: f.metalLib, Replay: metal.Replay(f.replay), Compiled: f.metallib}
	if exe, err := os.Executable(); err == nil && o.Compiled == "" {
		o.Compiled = filepath.Dir(exe)
	}
	o.Cache = metal.CacheFolder()
	o.Trusted, o.Note = f.trusted, f.say
	return o
}

func openMetal(f *flags) (device.Device, error) {
	d, err := metal.Open(metalOptions(f))
	if err != nil {
		return nil, err // do not return a nil *metal.Device as a device
	}
	return d, nil
}
