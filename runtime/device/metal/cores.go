package metal

import (
	"mla/runtime/device"
)

// splits is the number of splits of one row's attention on this GPU. It is the number of threadgroups that
// run concurrently, if atOnce knows it (0: unknown), else a fixed number per core. 0: the bundle's number is
// for all GPUs.
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

// cut sets the number of splits of all commands with splits per core, in their grids and in the constants
// that the kernels read.
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
