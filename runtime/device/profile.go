package device

import "time"

// Profiler measures the dispatches of a Runner on the device.
type Profiler struct {
	// CopyBandwidth measures a long copy within the device's memory: bytes read plus bytes written, per
	// second.
	CopyBandwidth func() (float64, error)
	// Profile measures every kind of stage of a replay. It overwrites the caches.
	Profile func(p *Profiling) ([]Stage, error)
}

// Profiling is the parameters of a measurement.
type Profiling struct {
	Rows     int                   // cache rows that the last row attends to, its own included
	Width    int                   // rows of the replay: consecutive positions of one session; 0: one
	Least    time.Duration         // least time that one measurement takes
	Progress func(done, total int) // called with kinds of stages; may be nil
	// Wanted selects the kinds to measure by their functions; nil: all.
	Wanted func(functions []string) bool
}

// Stage is the dispatches between two barriers. They run in parallel, so they have one time. Stages with the
// same kernel functions are of one kind.
//
// A kind is measured by running the stages of all layers one after the other. Each waits for the one before,
// so the time includes the gap between two stages. The runs are repeated over so much data that the
// memory-side cache does not hold it.
type Stage struct {
	Functions []string
	Count     int   // of such stages in a replay
	Bytes     int64 // that one stage has to read and write; the mean over the layers
	Flops     int64 // of one stage's products: two for each weight and row
	Time      time.Duration
}

// Bandwidth is bytes per second.
func (s *Stage) Bandwidth() float64 { return float64(s.Bytes) / s.Time.Seconds() }
