package device

import "time"

// Profiler measures the dispatches of a Runner where they run.
type Profiler struct {
	// CopyBandwidth measures a long copy within the device's memory: bytes read
	// plus bytes written, per second.
	CopyBandwidth func() (float64, error)
	// Profile measures every kind of stage that a replay is made of. The caches hold
	// nothing of use afterwards.
	Profile func(p *Profiling) ([]Stage, error)
}

// Profiling is how to measure.
type Profiling struct {
	Rows     int                   // cache rows that the last of the rows attends to, its own included
	Width    int                   // rows of the replay, of one session and at following positions; 0: one
	Least    time.Duration         // that one measurement lasts
	Progress func(done, total int) // in kinds of stages; may be nil
	// Wanted picks the kinds to measure by their functions; nil: all.
	Wanted func(functions []string) bool
}

// Stage is the dispatches between two barriers: they run side by side, so they have
// one time. Stages with the same kernel functions are of one kind.
//
// A kind is measured by running the stages of all layers one after the other, each
// waiting for the one before, often enough that what they read does not stay in the
// cache next to the memory. So the time includes the gap between two stages.
type Stage struct {
	Functions []string
	Count     int   // in a replay
	Bytes     int64 // that one has to read and write; the mean over the layers
	Flops     int64 // of its products: two for each weight and row
	Time      time.Duration
}

// Bandwidth is bytes per second.
func (s *Stage) Bandwidth() float64 { return float64(s.Bytes) / s.Time.Seconds() }
