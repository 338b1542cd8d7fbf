package device

import "mla/runtime/plan"

// Launch is one launch of a kernel, on memory of its own.
type Launch struct {
	Kernel          *plan.Kernel
	Variant         *plan.Variant
	Groups, Threads int
	// Buffers has the bytes of every slot, also of slots that the kernel writes.
	// No two buffers overlap.
	Buffers [][]byte
	// Memory is the memory that Buffers are parts of, for launchers that need more than the bytes of slots.
	// Its type is known to the package that made the launch.
	Memory any
}

// Launcher runs a launch and leaves the kernel's results in Buffers.
type Launcher interface {
	Launch(*Launch) error
}
