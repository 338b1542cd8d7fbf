package metal

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestHeartbeat counts beats in simulated time.
func TestHeartbeat(t *testing.T) {
	const perMinute = int(time.Minute / heartbeatEvery)
	synctest.Test(t, func(t *testing.T) {
		var beats atomic.Int64
		h := newHeartbeat(func() { beats.Add(1) })
		after := func(d time.Duration, want int) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if n := int(beats.Load()); n != want {
				t.Errorf("%d beats; want %d", n, want)
			}
		}
		time.Sleep(heartbeatEvery / 2) // what follows lies between beats
		after(0, 0)
		after(time.Minute, perMinute)
		h.touch()
		h.touch() // nothing more
		if n := len(h.used); n != 1 {
			t.Errorf("two uses between beats are kept as %d; want 1", n)
		}
		after(heartbeatIdle-time.Minute, 3*perMinute)
		after(2*time.Minute, 4*perMinute+1) // idle for three minutes at the next beat
		after(time.Hour, 4*perMinute+1)
		h.touch()
		after(time.Minute, 5*perMinute+1)
		h.close()
		after(time.Hour, 5*perMinute+1)
	})
}

// TestHeartbeatClosed checks Close during a beat, while idle, and without a heartbeat.
func TestHeartbeatClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var during atomic.Bool
		h := newHeartbeat(func() {
			during.Store(true)
			time.Sleep(time.Minute)
			during.Store(false)
		})
		time.Sleep(2 * heartbeatEvery)
		if !during.Load() {
			t.Error("it does not beat")
		}
		h.close()
		if during.Load() {
			t.Error("a beat is under way after close")
		}
		idle := newHeartbeat(func() {})
		time.Sleep(2 * heartbeatIdle)
		idle.close()
		var none *heartbeat
		none.touch()
		none.close()
	})
}
