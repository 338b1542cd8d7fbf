package blas

import (
	"sync"

	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/device/linalg"
	"mla/runtime/plan"
)

// CPU returns the CPU device. Where the system has a BLAS, the device calls Choose for the first model with
// prompts of enough rows.
func CPU() device.Device {
	if System() == "" {
		return cpu.New()
	}
	return choosing{cpu.New(), System()}
}

type choosing struct {
	device.Device
	path string
}

var choice struct {
	sync.Once
	said string
}

// Said is what Choose found, in words; "": it has not run.
func Said() string { return choice.said }

// Always makes the system's library multiply many inputs, whether or not it is faster, so that its results
// can be compared. It returns the library's name, or why it cannot be used; "": the system has none.
func Always() (name string) { return always(System()) }

func always(path string) string {
	if path == "" {
		return ""
	}
	l, err := Open(path)
	if err != nil {
		return err.Error()
	}
	linalg.SetLibrary(l)
	return l.Name
}

// Load implements device.Device.
func (d choosing) Load(m *device.Model, cfg device.Config) (device.Runner, error) {
	r, err := d.Device.Load(m, cfg)
	if err == nil && cfg.Width >= linalg.LibraryInputs {
		choice.Do(func() { choice.said = choose(d.path, m, cfg.Threads) })
	}
	return r, err
}

func choose(path string, m *device.Model, workers int) string {
	l, err := Open(path)
	if err != nil {
		return err.Error()
	}
	return Choose(l, m, workers)
}

// Int8 implements device.Int8er.
func (d choosing) Int8(b *plan.Bundle) error { return d.Device.(device.Int8er).Int8(b) }
