package main

import (
	"errors"
	"os"
	"path/filepath"

	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/device/cuda"
	"mla/runtime/device/cuda/cu"
	"mla/runtime/device/metal"
)

// openDevice opens the device that a command line asks for.
type openDevice func(f *flags) (device.Device, error)

// devices are the values of -device.
var devices = map[string]openDevice{"auto": openAuto, "cpu": openCPU, "cuda": openCUDA, "metal": openMetal}

// openAuto takes an NVIDIA GPU where there is one, else the CPU. It does not take
// Metal until that has been seen to work on Apple hardware.
func openAuto(f *flags) (device.Device, error) {
	d, err := openCUDA(f)
	if err == nil {
		return d, nil
	}
	if f.cudaLib != "" || !errors.Is(err, cu.ErrNoDriver) && !errors.Is(err, cuda.ErrNoDevice) {
		f.note("%v\nso the CPU runs the model\n", err)
	}
	return openCPU(f)
}

func cudaOptions(f *flags) cuda.Options { return cuda.Options{Library: f.cudaLib, PTX: f.finder().PTX} }

func openCUDA(f *flags) (device.Device, error) {
	d, err := cuda.Open(cudaOptions(f))
	if err != nil {
		return nil, err // not a *cuda.Device that is nil
	}
	return d, nil
}

func openCPU(*flags) (device.Device, error) { return cpu.New(), nil }

// metalOptions are those that the flags ask for. Compiled libraries lie beside the
// program unless -metallib says where.
func metalOptions(f *flags) metal.Options {
	o := metal.Options{Library: f.metalLib, Replay: metal.Replay(f.replay), Compiled: f.metallib}
	if exe, err := os.Executable(); err == nil && o.Compiled == "" {
		o.Compiled = filepath.Dir(exe)
	}
	o.Cache = metal.CacheFolder()
	o.Trusted, o.Note = f.trusted, f.note
	return o
}

func openMetal(f *flags) (device.Device, error) {
	d, err := metal.Open(metalOptions(f))
	if err != nil {
		return nil, err // not a *metal.Device that is nil
	}
	return d, nil
}
