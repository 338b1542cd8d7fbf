package device

import "fmt"

// Compilation is what was compiled of a bundle's kernels. Bytes are of source.
type Compilation struct {
	Kernels, AllKernels int
	// From is what was compiled, as "Metal source", or the path of a library that was
	// compiled before.
	From string
	// Bytes were compiled, of AllBytes that the bundle has; none from a library.
	Bytes, AllBytes int
	// Inlined are the same bytes with what several kernels use counted for each of them:
	// a compiler that inlines all calls compiles it so often. 0: all calls are inlined
	// in what was compiled.
	Inlined, AllInlined int
}

// String is the compilation in one line.
func (c Compilation) String() string {
	text := fmt.Sprintf("%d of %d kernels from %s", c.Kernels, c.AllKernels, c.From)
	if c.AllBytes > 0 {
		text += fmt.Sprintf(", %d of %d bytes", c.Bytes, c.AllBytes)
	}
	if c.AllInlined > 0 {
		text += fmt.Sprintf(" (%.1f %% with what is inlined)", 100*float64(c.Inlined)/float64(c.AllInlined))
	}
	return text
}
