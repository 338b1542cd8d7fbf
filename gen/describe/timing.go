package describe

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"mla/gen/target"
)

// Timing has the times of the dispatches of a token.
type Timing struct {
	Name   string    `json:"name"`
	Source string    `json:"source"` // source of the times, for people
	Us     []float64 `json:"us"`     // time of each dispatch
	Rest   float64   `json:"rest"`   // time of a token outside dispatches
}

// timings returns the measured times, if any, and those predicted for the chips of the time model.
func (r *Report) timings() (list []Timing) {
	if r.measured != nil {
		list = append(list, *r.measured)
	}
	for _, p := range r.Predictions {
		list = append(list, r.predicted(&p))
	}
	return list
}

// predicted splits the prediction for a chip among dispatches: bytes at the middle of the range of the share
// of bandwidth, and a launch for each barrier.
func (r *Report) predicted(p *Prediction) Timing {
	share := (p.Share.Low + p.Share.High) / 2
	t := Timing{Name: p.Device, Rest: p.CommandBufUs,
		Source: fmt.Sprintf("predicted by the time model, "+target.Untried+": bytes of weights and cache at %.0f %% of %.0f GB/s, %.2g µs for each dispatch that waits, %.0f µs for the command buffer",
			100*share, p.BandwidthGBs, p.LaunchUs, p.CommandBufUs)}
	for _, d := range r.Dispatches {
		us := float64(d.WeightBytes+d.CacheBytes) / (share * p.BandwidthGBs * 1e3)
		if d.Barrier {
			us += p.LaunchUs
		}
		t.Us = append(t.Us, us)
	}
	return t
}

// stageTime is a row of the output of mlarun bench -kernels -o json: the dispatches between two barriers.
type stageTime struct {
	Act       string  `json:"act"`
	Depth     int     `json:"depth"`
	Width     int     `json:"width"`
	Functions string  `json:"functions"`
	Micros    float64 `json:"us"`
}

// maxKernelsFile is the largest size of a file of measured times, in bytes.
const maxKernelsFile = 1 << 24

// Measured reads the times in a file that mlarun bench -kernels -o json wrote for the same bundle, types and
// depth. It fails if a stage has no time. The time of a stage is split among its dispatches by their bytes.
func (r *Report) Measured(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Size() > maxKernelsFile {
		return fmt.Errorf("%s has %d bytes; expected what mlarun bench -kernels -o json writes", path, info.Size())
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var rows []stageTime
	if err := json.Unmarshal(text, &rows); err != nil {
		return fmt.Errorf("%s: %w; expected what mlarun bench -kernels -o json writes", path, err)
	}
	took := map[string]float64{}
	for _, s := range rows {
		if s.Act == r.Act && s.Depth == r.Depth && s.Width <= 1 && s.Micros > 0 {
			took[s.Functions] = s.Micros
		}
	}
	t := &Timing{Name: "measured", Source: "measured: " + path, Us: make([]float64, len(r.Dispatches))}
	for first := 0; first < len(r.Dispatches); {
		next := first + 1
		for next < len(r.Dispatches) && !r.Dispatches[next].Barrier {
			next++
		}
		us, ok := took[functions(r.Dispatches[first:next])]
		if !ok {
			return fmt.Errorf("%s has no time of %s with %s activations at depth %d; measure a file of quant profile %s with -act %s -d %d, and describe the bundle that ran it (-class)",
				path, functions(r.Dispatches[first:next]), r.Act, r.Depth, r.Profile, r.Act, r.Depth)
		}
		split(t.Us[first:next], r.Dispatches[first:next], us)
		first = next
	}
	r.measured = t
	return nil
}

// functions returns the functions of a stage, as mlarun bench names them.
func functions(stage []Dispatch) string {
	var names []string
	for _, d := range stage {
		names = append(names, d.Variant)
	}
	return strings.Join(names, " + ")
}

// split splits a time among dispatches by their bytes.
func split(to []float64, stage []Dispatch, us float64) {
	all := 0.0
	for _, d := range stage {
		all += float64(d.moves())
	}
	for i, d := range stage {
		to[i] = us * float64(d.moves()) / max(all, 1)
	}
}

// moves returns how many bytes a dispatch reads and writes.
func (d *Dispatch) moves() int64 { return d.WeightBytes + d.BytesRead + d.BytesWritten }
