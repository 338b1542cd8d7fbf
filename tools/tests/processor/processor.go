// Package processor tells tests how much of the processors' time the process has used. Other
// programs of a busy machine lengthen that of the clock, and this hardly.
package processor

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Time is what all threads of the process have used so far, for itself and in the system.
func Time(t testing.TB) time.Duration {
	t.Helper()
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
