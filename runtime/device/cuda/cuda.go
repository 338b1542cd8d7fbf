// Package cuda replays plans on NVIDIA GPUs through the driver alone. A token is
// one CUDA graph, recorded once: every dispatch of the plan is a kernel node, the
// dispatches between two barriers run side by side, and a barrier makes what
// follows wait for all of them. The kernels are the bundle's Metal source,
// compiled to PTX ahead of time; the driver compiles PTX for the GPU and keeps
// what it made in a cache of its own.
//
// ptx.go picks the kernels that a file needs out of a bundle's PTX; weights.go
// and upload.go bring the weights to the device; graph.go makes the graphs of
// what device.Commands resolved; runner.go replays them.
//
// Four steps of one row are one graph. A kernel may begin before the one before it has ended, and
// waits where the Metal source says GRID_WAIT (CUDA's grid dependency wait; empty on Metal). It may begin as soon as
// all threadgroups of the one before have said LAUNCH_DEPENDENTS, which some do before they wait themselves. Until
// then the lanes of a mat-vec load the weights of their first pass into registers, where the format
// says how (preloaded, templates/msl/lib/weights/ahead.metal). A kernel with more than 48 KiB of
// threadgroup memory asks for it at each launch: a line above its entry in the PTX says how much.
//
// Weights are copied once. On the way the fields of Q4_0, Q5_0, Q8_0 and Q6_K blocks are set apart
// row by row (quant.SplitRows), so that loads are wide.
//
// Without a GPU the package talks to sim/cuda, a stand-in for the driver.
package cuda

import (
	"errors"
	"fmt"

	"mla/runtime/device"
	"mla/runtime/device/cuda/cu"
	"mla/runtime/plan"
)

// Options say how to open the device.
type Options struct {
	// Library stands in for the driver's; "" opens that.
	Library string
	// PTX gives the kernels of a bundle: one .entry for each variant, under its
	// name, with a pointer parameter for each slot of its kernel.
	PTX func(*plan.Bundle) (string, error)
}

// Device implements device.Device.
type Device struct {
	cu.Properties
	device  cu.Device
	options Options
	asked   *cu.Context // of Free; nil: there is none
}

// ErrNoDevice says that there is a driver, but nothing that it drives.
var ErrNoDevice = errors.New("the NVIDIA driver finds no GPU")

// Absent says whether an error of Open means that the machine has no NVIDIA GPU.
func Absent(err error) bool { return errors.Is(err, cu.ErrNoDriver) || errors.Is(err, ErrNoDevice) }

// Open loads the driver and finds the GPU, the first of those that
// CUDA_VISIBLE_DEVICES lets the process use. It holds nothing afterwards: every
// runner takes a reference to the GPU's context for itself. Without a driver the
// error is a cu.ErrNoDriver, without a GPU an ErrNoDevice.
func Open(o Options) (*Device, error) {
	var failed *cu.Error
	if err := cu.Load(o.Library); errors.As(err, &failed) && failed.Code == cu.CodeNoDevice {
		return nil, fmt.Errorf("%w (%w)", ErrNoDevice, err)
	} else if err != nil {
		return nil, err
	}
	n, err := cu.Devices()
	switch {
	case err != nil:
		return nil, err
	case n == 0:
		return nil, ErrNoDevice
	}
	d := &Device{options: o}
	if d.device, d.Properties, err = cu.Inspect(0); err != nil {
		return nil, err
	}
	return d, nil
}

// Name implements device.Device.
func (d *Device) Name() string { return d.Properties.Name }

// Class implements device.Device.
func (d *Device) Class() string { return plan.ClassNVIDIA }

// Takes implements device.Device.
func (d *Device) Takes(l *device.Layout) int64 {
	return l.Bytes() + rowBytes*int64(l.Batch+l.Width)
}

// OwnMemory implements device.Separate.
func (d *Device) OwnMemory() bool { return true }

// Load implements device.Device. The runner is for one goroutine at a time.
func (d *Device) Load(m *device.Model, cfg device.Config) (device.Runner, error) {
	l, err := m.Layout(cfg)
	if err != nil {
		return nil, fmt.Errorf("bundle %s: %w", m.Bundle.Name, err)
	}
	commands, err := m.Commands(l, cfg, d.Class())
	if err != nil {
		return nil, err
	}
	r, err := d.newRunner(m, cfg, l, commands)
	if err != nil {
		return nil, err // not a *runner that is nil
	}
	return r, nil
}
