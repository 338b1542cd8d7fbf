package device

import (
	"context"
	"time"
)

// Diagnostics is what a Runner reports beside results. A field that it cannot report is nil.
type Diagnostics struct {
	// GPUTime is how long the accelerator was busy with all finished replays.
	GPUTime func() time.Duration
	// Compilation says which kernels were compiled for the file.
	Compilation func() (Compilation, error)
	// Profiler measures single stages of a replay on the device.
	Profiler *Profiler
	// Stress does what the function of this name does, faster than through Replay. It compares the written
	// cache rows, too.
	Stress func(context.Context, *Stressing) (*Stressed, error)
}
