package metal

import (
	"mla/runtime/device"
)

// splits is how many splits one row's attention has on the GPU at hand: as many threadgroups as atOnce says
// that run at a time (0: it does not know), or else a number for each core; 0: the bundle has a number for all GPUs.
func (d *Device) splits(s *sequence, atOnce func(*command) int) int {
	for i := range s.commands {
		c := &s.commands[i]
		of := c.Kernel.PerCore()
		if of == nil || !c.Kernel.Attends() {
			continue
		}
		if n := atOnce(c); n > 0 {
			return of.InTurns(n)
		}
		return of.OnCores(d.cores())
	}
	return 0
}

// cut sets the number of splits of the commands that follow the GPU: in their grids, and in the constants
// that their kernels read.
func (s *sequence) cut(splits int, constants []byte) {
	if splits == 0 {
		return
	}
	for i := range s.commands {
		c := &s.commands[i]
		k := c.Kernel.WithSplits(splits)
		if k == c.Kernel {
			continue
		}
		c.Kernel, c.Groups, c.work.Splits = k, k.Groups(), *k.PerCore()
		device.PutSplits(constants[c.constants():], k)
	}
}
