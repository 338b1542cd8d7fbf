package scheduler

import (
	"time"

	"golang.org/x/sys/unix"
)

// nap sleeps. It supports durations below a millisecond, the least that time.Sleep may take.
func nap(d time.Duration) {
	t := unix.NsecToTimeval(int64(d))
	_, _ = unix.Select(0, nil, nil, nil, &t) // a signal may end it early
}
