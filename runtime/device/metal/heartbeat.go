package metal

import (
	"time"

	"mla/runtime/device/metal/mtl"
)

const (
	// heartbeatEvery is half of the second after which macOS un-wires memory that no command buffer has used.
	// The next token would then wait some 250 ms for a large model (rule 24).
	heartbeatEvery = 500 * time.Millisecond
	// heartbeatIdle is the idle time after which a session lets the system have its memory. People read and
	// type for minutes, but a program that is left open should not hold gigabytes.
	heartbeatIdle = 3 * time.Minute
)

// heartbeat keeps a residency set wired as long as tokens are computed now and then. It runs in a goroutine
// of its own, which sleeps from the end of the idle time to the next token.
type heartbeat struct {
	used       chan struct{} // with capacity one
	stop, done chan struct{}
}

// keepResident starts the heartbeat of a set whose residency was just requested.
func keepResident(set mtl.ResidencySet) *heartbeat {
	return newHeartbeat(func() {
		_ = mtl.Pool(func() error { set.Request(); return nil })
	})
}

func newHeartbeat(beat func()) *heartbeat {
	h := &heartbeat{used: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	h.touch()
	go h.run(beat)
	return h
}

// touch reports that the set is in use. It does not block. A nil heartbeat ignores it.
func (h *heartbeat) touch() {
	if h == nil {
		return
	}
	select {
	case h.used <- struct{}{}:
	default: // it was already reported
	}
}

// close returns once no beat runs and none will follow. A nil heartbeat ignores it.
func (h *heartbeat) close() {
	if h == nil {
		return
	}
	close(h.stop)
	<-h.done
}

func (h *heartbeat) run(beat func()) {
	defer close(h.done)
	for {
		select {
		case <-h.used:
		case <-h.stop:
			return
		}
		if !h.keep(beat) {
			return
		}
	}
}

// keep beats until the set has been idle for heartbeatIdle (true) or the heartbeat is closed (false).
func (h *heartbeat) keep(beat func()) bool {
	t := time.NewTicker(heartbeatEvery)
	defer t.Stop()
	for last := time.Now(); time.Since(last) < heartbeatIdle; {
		select {
		case <-t.C:
			beat()
		case <-h.used:
			last = time.Now()
		case <-h.stop:
			return false
		}
	}
	return true
}
