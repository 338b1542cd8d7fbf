package device

import "fmt"

// Compilation says which of a bundle's kernels a device has compiled.
type Compilation struct {
	Kernels, AllKernels int
	// From is what was compiled: "Metal source", or the path of a library that had been compiled before.
	From string
	// Bytes is how many bytes of source were compiled, of the bundle's AllBytes; 0 from a library.
	Bytes, AllBytes int
	// Inlined and AllInlined count the same bytes, but a function once for each kernel that calls it: a
	// compiler that inlines all calls compiles it that often. 0: the source that was compiled has all calls
	// inlined already.
	Inlined, AllInlined int
}

// String describes the compilation in one line.
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
