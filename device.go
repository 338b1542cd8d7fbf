package mla

import (
	"errors"
	"fmt"

	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/device/cuda"
	"mla/runtime/device/cuda/cu"
	"mla/runtime/device/metal"
	"mla/runtime/load/bundles"
)

// openDevice opens a device by the name of Options.Device.
func openDevice(name string, finder *bundles.Finder) (device.Device, error) {
	switch name {
	case "cpu":
		return cpu.New(), nil
	case "metal":
		d, err := metal.Open(metal.Options{Replay: metal.ReplayEncode, Cache: metal.CacheFolder()})
		if err != nil {
			return nil, err // not a *metal.Device that is nil
		}
		return d, nil
	case "cuda", "":
		d, err := cuda.Open(cuda.Options{PTX: finder.PTX})
		if err == nil {
			return d, nil
		}
		if name == "" && (errors.Is(err, cu.ErrNoDriver) || errors.Is(err, cuda.ErrNoDevice)) {
			return cpu.New(), nil
		}
		return nil, err
	}
	return nil, fmt.Errorf("there is no device %q; expected cpu, cuda or metal", name)
}
