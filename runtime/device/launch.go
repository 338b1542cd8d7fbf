package device

import "mla/runtime/plan"

// Launch is one launch of a kernel on memory of its own.
type Launch struct {
	Kernel          *plan.Kernel
	Variant         *plan.Variant
	Groups, Threads int
	// Buffers has the bytes of every slot, also of slots that the kernel writes.
	// No two buffers overlap.
	Buffers [][]byte
	// Memory is what Buffers are part of, for launchers that need more than the
	// bytes of slots. Only the package that made the launch knows its type.
	Memory any
}

// Launcher runs a launch and leaves in Buffers what the kernel makes of them.
type Launcher interface {
	Launch(*Launch) error
}
