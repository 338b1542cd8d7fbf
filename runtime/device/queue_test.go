package device_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"mla/runtime/device"
)

// TestQueue checks that a unit waits for the unit which had its slot, that each unit is waited for once, and
// that the device's busy time adds up.
func TestQueue(t *testing.T) {
	var waited []int
	q := device.NewQueue(3, func(slot int) (time.Duration, error) {
		waited = append(waited, slot)
		return time.Second, nil
	})
	submit := func(want int) {
		t.Helper()
		if slot, err := q.Slot(); err != nil || slot != want {
			t.Fatalf("slot %d, %v; expected %d", slot, err, want)
		}
		q.Submit()
	}
	for i := range 5 {
		submit(i % 3)
	}
	if want := []int{0, 1}; !slices.Equal(waited, want) || q.InFlight() != 3 || q.Next() != 2 {
		t.Errorf("waited for %d, %d in flight, %d is next; expected %d, 3, 2", waited, q.InFlight(), q.Next(), want)
	}
	if err := errors.Join(q.Wait(0), q.Wait(0), q.Drain()); err != nil || !slices.Equal(waited, []int{0, 1, 0, 2, 1}) {
		t.Errorf("waited for %d, %v", waited, err)
	}
	if q.InFlight() != 0 || q.Busy() != 5*time.Second || q.Drain() != nil || len(waited) != 5 {
		t.Errorf("%d in flight, busy for %v, waited for %d", q.InFlight(), q.Busy(), waited)
	}
}

// TestQueueFails checks that the first error is the error of all later units, and that these units are still
// waited for, because they use memory.
func TestQueueFails(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	var waited []int
	q := device.NewQueue(4, func(slot int) (time.Duration, error) {
		waited = append(waited, slot)
		return 0, map[int]error{1: first, 2: second}[slot]
	})
	for range 4 {
		q.Submit()
	}
	if err := q.Drain(); err != first || !slices.Equal(waited, []int{0, 1, 2, 3}) {
		t.Errorf("%v, waited for %d", err, waited)
	}
	if _, err := q.Slot(); err != first || q.Failed() != first || q.Fail(second) != first || q.Wait(3) != first {
		t.Errorf("%v, %v", err, q.Failed())
	}
	fresh := device.NewQueue(1, nil)
	if fresh.Failed() != nil || fresh.Fail(nil) != nil || fresh.Fail(second) != second || fresh.Failed() != second {
		t.Error(fresh.Failed())
	}
}
