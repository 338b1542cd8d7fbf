package metal

import (
	"mla/runtime/device"
	"mla/runtime/plan"
	"mla/runtime/plan/pieces"
)

// compilation describes what was compiled for functions of a bundle; origin is that of Device.library.
func compilation(b *plan.Bundle, functions []string, origin string) (c device.Compilation, err error) {
	all := b.Functions()
	c = device.Compilation{Kernels: len(functions), AllKernels: len(all), From: origin}
	if origin != FromSource {
		return c, nil
	}
	c.From = "Metal source"
	source := pieces.Parse(b.Metal())
	cut, err := source.Cut(functions)
	if err != nil {
		return c, err
	}
	c.Bytes, c.AllBytes = len(cut), len(b.Metal())
	if c.Inlined, err = source.Inlined(functions); err != nil {
		return c, err
	}
	c.AllInlined, err = source.Inlined(all)
	return c, err
}
