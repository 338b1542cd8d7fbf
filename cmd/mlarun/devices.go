package main

import (
	"os"
	"path/filepath"

	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/device/metal"
)

// openDevice opens the device that a command line asks for.
type openDevice func(f *flags) (device.Device, error)

// devices are the values of -device. auto stays on the CPU until the Metal
// device has been seen to work on Apple hardware.
var devices = map[string]openDevice{"auto": openCPU, "cpu": openCPU, "metal": openMetal}

func openCPU(*flags) (device.Device, error) { return cpu.New(), nil }

func openMetal(f *flags) (device.Device, error) {
	o := metal.Options{Library: f.metalLib, Replay: metal.Replay(f.replay)}
	if exe, err := os.Executable(); err == nil {
		o.Compiled = filepath.Dir(exe)
	}
	if dir, err := os.UserCacheDir(); err == nil {
		o.Cache = filepath.Join(dir, "mla")
	}
	d, err := metal.Open(o)
	if err != nil {
		return nil, err // not a *metal.Device that is nil
	}
	return d, nil
}
