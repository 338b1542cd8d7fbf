package device

import "time"

// Queue tracks the units of work that a device has been handed, which it runs in order. Each unit has a slot
// of a ring, with the memory that it needs until it is done. So a new unit waits for the previous unit of its
// slot. After a failed unit the contents of the caches are unknown, so its error is the error of all later
// units.
type Queue struct {
	wait     func(slot int) (took time.Duration, err error)
	inFlight []bool
	next     int
	failed   error
	busy     time.Duration
}

// NewQueue returns a queue with a given number of slots. wait waits for the unit in a slot and returns how
// long the device was busy with it; it is called once for each unit.
func NewQueue(slots int, wait func(slot int) (took time.Duration, err error)) Queue {
	return Queue{wait: wait, inFlight: make([]bool, slots)}
}

// Next is the slot of the next unit. If all slots are in flight, it is that of the oldest unit.
func (q *Queue) Next() int { return q.next }

// Slot waits until slot Next is free, and returns it.
func (q *Queue) Slot() (int, error) { return q.next, q.Wait(q.next) }

// Submit records that the device has been handed the unit in slot Next.
func (q *Queue) Submit() {
	q.inFlight[q.next] = true
	q.next = (q.next + 1) % len(q.inFlight)
}

// Wait waits for the unit in a slot, if one is in flight there. It returns the error of the first unit that
// failed, of this slot or another.
func (q *Queue) Wait(slot int) error {
	if !q.inFlight[slot] {
		return q.failed
	}
	q.inFlight[slot] = false
	took, err := q.wait(slot)
	q.busy += took
	return q.Fail(err)
}

// Oldest waits for units, the oldest first, until enough returns true.
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

// Drain waits for all units, the oldest first, also after one has failed.
func (q *Queue) Drain() error {
	for i := range q.inFlight {
		_ = q.Wait((q.next + i) % len(q.inFlight)) // q.failed has the first error
	}
	return q.failed
}

// Fail records an error of the device, or nil, and returns the error of the first unit that failed.
func (q *Queue) Fail(err error) error {
	if q.failed == nil {
		q.failed = err
	}
	return q.failed
}

// Failed is the error of the first unit that failed, of all units that were waited for.
func (q *Queue) Failed() error { return q.failed }

// InFlight is the number of units that were not waited for.
func (q *Queue) InFlight() (n int) {
	for _, is := range q.inFlight {
		if is {
			n++
		}
	}
	return n
}

// Busy is how long the device was busy with the units that were waited for.
func (q *Queue) Busy() time.Duration { return q.busy }
