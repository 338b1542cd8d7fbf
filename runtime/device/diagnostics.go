package device

import (
	"context"
	"time"
)

// Diagnostics is what a Runner can say of itself beside results. A field is nil where it cannot.
type Diagnostics struct {
	// GPUTime is how long the accelerator was busy with all replays that have finished.
	GPUTime func() time.Duration
	// Compilation is what was compiled for the file.
	Compilation func() (Compilation, error)
	// Profiler measures dispatches where they run.
	Profiler *Profiler
	// Stress does what the function of this name does, quicker than through Replay, with the cache rows
	// that a token writes compared as well.
	Stress func(context.Context, *Stressing) (*Stressed, error)
}
