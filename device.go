package mla

import (
	"errors"
	"fmt"

	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/device/cuda"
	"mla/runtime/device/cuda/cu"
	"mla/runtime/device/metal"
	"mla/runtime/engine/opening"
	"mla/runtime/load/bind"
	"mla/runtime/load/bundles"
	"mla/runtime/plan"
)

// candidates are the devices that Options.Device names, in the order in which they are tried.
func candidates(name string, finder *bundles.Finder) ([]opening.Candidate, error) {
	onCPU := opening.Candidate{Name: "cpu", Open: func() (device.Device, error) { return cpu.New(), nil }}
	onCUDA := opening.Candidate{
		Name: "cuda",
		Open: func() (device.Device, error) {
			d, err := cuda.Open(cuda.Options{PTX: finder.PTX})
			if err != nil {
				return nil, err // not a *cuda.Device that is nil
			}
			return d, nil
		},
		Absent:  func(err error) bool { return errors.Is(err, cu.ErrNoDriver) || errors.Is(err, cuda.ErrNoDevice) },
		Refuses: func(_ device.Device, _ *bind.Resolved, b *plan.Bundle) error { return finder.HasPTX(b) },
	}
	onMetal := opening.Candidate{Name: "metal", Open: func() (device.Device, error) {
		d, err := metal.Open(metal.Options{Replay: metal.ReplayEncode, Cache: metal.CacheFolder()})
		if err != nil {
			return nil, err
		}
		return d, nil
	}}
	switch name {
	case "":
		return []opening.Candidate{onCUDA, onCPU}, nil
	case "cpu":
		return []opening.Candidate{onCPU}, nil
	case "cuda":
		return []opening.Candidate{onCUDA}, nil
	case "metal":
		return []opening.Candidate{onMetal}, nil
	}
	return nil, fmt.Errorf("there is no device %q; expected cpu, cuda or metal", name)
}
