package device

import "time"

// Timed is a Runner that knows how long its accelerator was busy.
type Timed interface {
	// GPUTime is the total of all replays that have finished.
	GPUTime() time.Duration
}
