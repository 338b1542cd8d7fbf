package cuda

import (
	"math"

	"mla/runtime/device/cuda/cu"
)

// Free implements device.Limited: the memory of the GPU that other programs and models have left. Creating a
// context takes a fifth of a second. So the one that answers the question is kept until a model has a context
// of its own.
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

// answered releases the context that Free keeps.
func (d *Device) answered() error {
	gpu := d.asked
	if d.asked = nil; gpu == nil {
		return nil
	}
	return gpu.Release()
}
