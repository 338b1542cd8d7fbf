package main

import (
	"runtime"
	"syscall"
	"time"
)

// peakMemory returns the greatest resident memory of this process, in bytes; 0 if the system does not report
// it.
func peakMemory() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(u.Maxrss) // in bytes on macOS; in KiB elsewhere
	}
	return int64(u.Maxrss) << 10
}

// processorTime returns the processor time that this process has used.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
