package scheduler

import (
	"time"

	"golang.org/x/sys/unix"
)

// nap sleeps for less than a millisecond, which time.Sleep takes at least.
func nap(d time.Duration) {
	t := unix.NsecToTimeval(int64(d))
	_, _ = unix.Select(0, nil, nil, nil, &t) // a signal wakes it early
}
