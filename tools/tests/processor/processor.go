// Package processor measures the processor time of the process, for tests of speed. Unlike wall time, it
// hardly depends on other programs on the machine.
package processor

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Time returns the user and system time that all threads of the process have used so far.
func Time(t testing.TB) time.Duration {
	t.Helper()
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
