// Package cuda replays plans on NVIDIA GPUs through the driver alone. A token is one CUDA graph, which is
// recorded once. Every dispatch of the plan is a kernel node. The dispatches between two barriers run
// concurrently, and a barrier makes all later dispatches wait for them. The kernels are the bundle's Metal
// source, compiled to PTX ahead of time. The driver compiles the PTX for the GPU and caches the result.
//
// ptx.go extracts the kernels that a file needs from a bundle's PTX. weights.go and upload.go copy the
// weights to the device. graph.go makes graphs of the resolved device.Commands; runner.go replays them.
//
// One graph has four steps of one row. A kernel may begin before the previous one has ended (programmatic
// dependent launch): once all threadgroups of the previous kernel have executed LAUNCH_DEPENDENTS. Some
// kernels execute it before they wait themselves. A kernel waits for the end of the previous one at GRID_WAIT
// in the Metal source, which is empty on Metal. Before that, the lanes of a mat-vec load the weights of their
// first pass into registers, for formats that support it (preloaded, templates/msl/lib/weights/ahead.metal).
// A kernel with more than 48 KiB of threadgroup memory asks for it at each launch; a line above its entry in
// the PTX says how much.
//
// Weights are copied once. The copy separates the fields of Q4_0, Q5_0, Q8_0 and Q6_K blocks row by row
// (quant.SplitRows), so that kernels can use wide loads.
//
// Without a GPU the package talks to sim/cuda, which replaces the driver.
package cuda

import (
	"errors"
	"fmt"

	"mla/runtime/device"
	"mla/runtime/device/cuda/cu"
	"mla/runtime/plan"
)

// Options is how to open the device.
type Options struct {
	// Library replaces the driver's library; "" opens that.
	Library string
	// PTX returns the kernels of a bundle: one .entry for each variant, under the variant's name, with a
	// pointer parameter for each slot of its kernel.
	PTX func(*plan.Bundle) (string, error)
}

// Device implements device.Device.
type Device struct {
	cu.Properties
	device  cu.Device
	options Options
	asked   *cu.Context // context that Free has created; nil: none
}

// ErrNoDevice says that there is a driver but no device.
var ErrNoDevice = errors.New("the NVIDIA driver finds no GPU")

// Absent says whether an error of Open means that the machine has no NVIDIA GPU or no driver.
func Absent(err error) bool { return errors.Is(err, cu.ErrNoDriver) || errors.Is(err, ErrNoDevice) }

// Open loads the driver and finds the GPU: the first one that CUDA_VISIBLE_DEVICES allows. It keeps nothing
// open: every runner takes its own reference to the GPU's context. Without a driver it returns
// cu.ErrNoDriver, without a GPU ErrNoDevice.
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

// Load implements device.Device. Only one goroutine at a time may use the runner.
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
		return nil, err // a nil *runner would be a non-nil Runner
	}
	return r, nil
}
