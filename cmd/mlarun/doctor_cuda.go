package main

import (
	"fmt"

	"mla/runtime/device"
	"mla/runtime/device/cuda"
	"mla/runtime/device/cuda/cu"
	"mla/runtime/engine"
	"mla/runtime/plan"
)

// cudaPatient examines an NVIDIA GPU.
func cudaPatient(f *doctorFlags) (*patient, error) {
	d, err := cuda.Open(cudaOptions(f.flags))
	if err != nil {
		return nil, err
	}
	return &patient{
		kind:  "cuda",
		class: d.Class(),
		facts: []fact{
			{"device", "cuda: " + d.Name()},
			{"driver", "CUDA " + cu.Version(d.Driver)},
			{"compute capability", fmt.Sprintf("%d.%d", d.Major, d.Minor)},
			{"multiprocessors", fmt.Sprint(d.Multiprocessors)},
			{"memory", engine.Size(int64(d.Memory))},
			{"level-2 cache", engine.Size(d.L2)},
		},
		launcher: func(b *plan.Bundle, _ []string) (device.Launcher, func(), error) {
			l, err := d.NewLauncher(b)
			if err != nil {
				return nil, nil, err
			}
			return l, func() { _ = l.Close() }, nil
		},
		runs:    f.finder().HasPTX,
		sampler: true,
	}, nil
}
