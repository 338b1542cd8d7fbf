package engine

import "golang.org/x/sys/unix"

// Available is the machine's memory in bytes; 0: unknown. The system does not tell how much of it is
// available without swapping.
func Available() int64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return int64(n)
}
