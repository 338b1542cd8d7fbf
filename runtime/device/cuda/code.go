package cuda

import (
	"fmt"

	"mla/runtime/device"
	"mla/runtime/device/cuda/cu"
	"mla/runtime/plan"
)

// code is some kernels of a bundle, compiled for the device.
type code struct {
	module   cu.Module
	kernels  map[string]cu.Kernel // by function
	compiled device.Compilation
}

// read parses a bundle's PTX, and checks that the device can run it.
func (d *Device) read(b *plan.Bundle) (*ptx, error) {
	text, err := d.options.PTX(b)
	if err != nil {
		return nil, err
	}
	p, err := parsePTX(text)
	if err != nil {
		return nil, fmt.Errorf("bundle %s: %w", b.Name, err)
	}
	if have := 10*d.Major + d.Minor; have < p.target {
		return nil, fmt.Errorf("the kernels are compiled for compute capability %d.%d or later; %s has %d.%d", p.target/10, p.target%10, d.Properties.Name, d.Major, d.Minor)
	}
	p.blockMemory = d.BlockMemory
	return p, nil
}

// use is a function that is needed, and its kernel.
type use struct {
	function string
	kernel   *plan.Kernel
}

// load compiles functions, and checks that each takes the arguments of the plan and can have the plan's
// threads and shared memory. After an error, too, the caller must unload a result that is not nil.
func (p *ptx) load(uses []use) (*code, error) {
	wanted := map[string]bool{}
	for _, u := range uses {
		if e := p.entries[u.function]; e == nil || e.params != len(u.kernel.Slots) {
			return nil, fmt.Errorf("kernel %s: the PTX has no entry with %d parameters; make ptx && make build compiles it", u.function, len(u.kernel.Slots))
		}
		if need := p.entries[u.function].dynamic; need > p.blockMemory {
			return nil, fmt.Errorf("kernel %s: %d bytes of shared memory per block; the GPU allows %d; -width 16 does without the kernels of prompts", u.function, need, p.blockMemory)
		}
		wanted[u.function] = true
	}
	text := p.module(wanted)
	module, err := cu.LoadPTX(text)
	if err != nil {
		return nil, fmt.Errorf("compile the kernels: %w", err)
	}
	c := &code{module, map[string]cu.Kernel{}, device.Compilation{
		Kernels: len(wanted), AllKernels: len(p.entries), From: "PTX", Bytes: len(text), AllBytes: p.bytes,
	}}
	for _, u := range uses {
		if err := c.find(u, p.entries[u.function].dynamic); err != nil {
			return c, fmt.Errorf("kernel %s: %w", u.function, err)
		}
	}
	return c, nil
}

// find looks up a kernel, once per function. Its blocks get dynamic bytes of shared memory.
func (c *code) find(u use, dynamic int) error {
	if _, ok := c.kernels[u.function]; ok {
		return nil
	}
	k, err := c.module.Kernel(u.function)
	if err != nil {
		return err
	}
	r, err := k.Resources()
	if err != nil {
		return err
	}
	if r.MaxThreads < u.kernel.Threads {
		return fmt.Errorf("%d threads per block; the GPU allows %d with %d registers each", u.kernel.Threads, r.MaxThreads, r.Registers)
	}
	if dynamic > 0 {
		if err := k.SetDynamic(dynamic); err != nil {
			return err
		}
	}
	c.kernels[u.function] = k
	return nil
}

// unload frees the kernels. A nil code has none.
func (c *code) unload() error {
	if c == nil {
		return nil
	}
	return c.module.Unload()
}
