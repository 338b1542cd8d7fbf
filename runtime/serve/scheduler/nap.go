package scheduler

import (
	"time"

	"golang.org/x/sys/unix"
)

// nap sleeps, also for less than the millisecond that time.Sleep may take at least.
func nap(d time.Duration) {
	t := unix.NsecToTimeval(int64(d))
	_, _ = unix.Select(0, nil, nil, nil, &t) // a signal wakes it early
}
