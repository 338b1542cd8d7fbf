package device

import "time"

// Queue keeps the units of work that a device has been handed, which it does one after the other. Each has
// a slot of a ring, with the memory that it needs until it is done, so a unit waits for the one that had
// its slot before. What a unit that failed has left in the caches nobody knows: its error is that of all
// that follows.
type Queue struct {
	wait     func(slot int) (took time.Duration, err error)
	inFlight []bool
	next     int
	failed   error
	busy     time.Duration
}

// NewQueue is a queue of a given number of slots. wait waits for the unit in a slot, once for each unit, and returns
// how long the device was busy with it.
func NewQueue(slots int, wait func(slot int) (took time.Duration, err error)) Queue {
	return Queue{wait: wait, inFlight: make([]bool, slots)}
}

// Next is the slot of the next unit; that of the oldest one in flight, if all are.
func (q *Queue) Next() int { return q.next }

// Slot is the same, once the unit that had it before is done.
func (q *Queue) Slot() (int, error) { return q.next, q.Wait(q.next) }

// Submit says that the device has been handed the unit in slot Next.
func (q *Queue) Submit() {
	q.inFlight[q.next] = true
	q.next = (q.next + 1) % len(q.inFlight)
}

// Wait waits for the unit in a slot, if one is in flight there. The error is that of the first unit that
// failed, whichever that was.
func (q *Queue) Wait(slot int) error {
	if !q.inFlight[slot] {
		return q.failed
	}
	q.inFlight[slot] = false
	took, err := q.wait(slot)
	q.busy += took
	return q.Fail(err)
}

// Oldest waits for units, the oldest first, until enough says that it is.
func (q *Queue) Oldest(enough func() bool) error {
	for i := range q.inFlight {
		if enough() {
			break
		}
		if err := q.Wait((q.next + i) % len(q.inFlight)); err != nil {
			return err
		}
	}
	return q.failed
}

// Drain waits for all units, the oldest first, those after one that failed too.
func (q *Queue) Drain() error {
	for i := range q.inFlight {
		_ = q.Wait((q.next + i) % len(q.inFlight)) // q.failed has the first error
	}
	return q.failed
}

// Fail notes an error of the device, nil for none, and returns that of the first unit that failed.
func (q *Queue) Fail(err error) error {
	if q.failed == nil {
		q.failed = err
	}
	return q.failed
}

// Failed is the error of the first unit that failed, of those that were waited for.
func (q *Queue) Failed() error { return q.failed }

// InFlight is how many units nobody has waited for.
func (q *Queue) InFlight() (n int) {
	for _, is := range q.inFlight {
		if is {
			n++
		}
	}
	return n
}

// Busy is how long the device was busy with units that were waited for.
func (q *Queue) Busy() time.Duration { return q.busy }
