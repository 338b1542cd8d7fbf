package cuda

import (
	"math"

	"mla/runtime/device/cuda/cu"
)

// Free implements device.Limited: what other programs and models have left of the GPU's memory.
// The context that tells stays until a model has taken one of its own: to make it takes a fifth of
// a second.
func (d *Device) Free() int64 {
	if d.asked == nil {
		gpu, err := d.device.Retain()
		if err != nil {
			return 0
		}
		d.asked = gpu
	}
	var free uint64
	if err := d.asked.Do(func() (err error) { free, _, err = cu.MemoryInfo(); return err }); err != nil {
		return 0
	}
	return int64(min(free, math.MaxInt64))
}

// answered gives the context of Free back.
func (d *Device) answered() error {
	gpu := d.asked
	if d.asked = nil; gpu == nil {
		return nil
	}
	return gpu.Release()
}
