package metal

import (
	"time"

	"mla/runtime/device/metal/mtl"
)

const (
	// heartbeatEvery is half of the second after which macOS un-wires memory that no
	// command buffer has used: the token that comes then waits some 250 ms for a large
	// model (rule 24).
	heartbeatEvery = 500 * time.Millisecond
	// heartbeatIdle is how long a session may be idle until its memory is given back
	// to the system: people read and type for that long, and a program that is left
	// open should not hold gigabytes.
	heartbeatIdle = 3 * time.Minute
)

// heartbeat keeps a residency set wired while tokens are computed now and then. A
// goroutine of its own does it; between idle time and the next token it sleeps.
type heartbeat struct {
	used       chan struct{} // has room for one
	stop, done chan struct{}
}

// keepResident starts the heartbeat of a set whose residency has just been requested.
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

// touch says that the set is used. It does not wait, and does nothing to nil.
func (h *heartbeat) touch() {
	if h == nil {
		return
	}
	select {
	case h.used <- struct{}{}:
	default: // it knows already
	}
}

// close returns when no beat is under way and none will come. It does nothing to nil.
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

// keep beats until the set was idle for long (true) or the heartbeat is closed.
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
