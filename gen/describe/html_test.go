package describe_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mla/gen"
	"mla/gen/describe"
	"mla/gen/spec"
)

// report describes a spec's first profile.
func report(t *testing.T, path string, depth int) *describe.Report {
	t.Helper()
	s, err := spec.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	b, err := gen.Compile(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return describe.Must(t, b, 0, depth)
}

// TestPredictedTimes: those of the dispatches add up to the prediction for the chip.
func TestPredictedTimes(t *testing.T) {
	for _, depth := range []int{0, 1000} {
		r := report(t, "../../specs/glm47mini.yaml", depth)
		for i, timing := range describe.Timings(r) {
			p := r.Predictions[i]
			share := (p.Share.Low + p.Share.High) / 2
			want := 1e6/p.CeilingTokSec/share + p.DispatchesUs + p.CommandBufUs
			sum := timing.Rest
			for _, us := range timing.Us {
				sum += us
			}
			// The same terms in another order.
			if timing.Name != p.Device || math.Abs(sum-want) > 1e-9*want || sum < 1e6/p.TokPerSecond.High || sum > 1e6/p.TokPerSecond.Low {
				t.Errorf("depth %d, %s: %g µs; want %g, within %v tok/s", depth, timing.Name, sum, want, p.TokPerSecond)
			}
		}
	}
}

// TestMeasured checks that times which mlarun measured between two barriers are assigned to the dispatches
// between them, and that other files are refused.
func TestMeasured(t *testing.T) {
	r := report(t, "../lower/testdata/small.yaml", 7)
	type row struct {
		Act       string  `json:"act"`
		Depth     int     `json:"depth"`
		Width     int     `json:"width"`
		Functions string  `json:"functions"`
		Micros    float64 `json:"us"`
	}
	var rows []row
	stages := 0
	for _, d := range r.Dispatches {
		if d.Barrier || stages == 0 {
			stages++
			rows = append(rows, row{"f32", 7, 1, d.Variant, 10}, row{"f32", 8, 1, d.Variant, 99}, row{"f16", 7, 1, d.Variant, 99}, row{"f32", 7, 16, d.Variant, 99})
			continue
		}
		for i := range 4 {
			rows[len(rows)-1-i].Functions += " + " + d.Variant
		}
	}
	path := filepath.Join(t.TempDir(), "kernels.json")
	write := func(v any) {
		text, err := json.Marshal(v)
		if err == nil {
			err = os.WriteFile(path, text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write(rows)
	if err := r.Measured(path); err != nil {
		t.Fatal(err)
	}
	measured, sum := describe.Timings(r)[0], 0.0
	for _, us := range measured.Us {
		sum += us
	}
	if measured.Name != "measured" || measured.Rest != 0 || math.Abs(sum-10*float64(stages)) > 1e-9*sum { // rounding of the shares
		t.Errorf("%d stages of 10 µs: %+v", stages, measured)
	}
	for says, v := range map[string]any{
		"has no time of ":  rows[4:],
		"cannot unmarshal": map[string]int{"a": 1},
		"at depth 7":       []row{},
	} {
		write(v)
		if err := report(t, "../lower/testdata/small.yaml", 7).Measured(path); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), path) {
			t.Errorf("%v; want %q", err, says)
		}
	}
	if err := r.Measured(path + "x"); err == nil {
		t.Error("a file that there is not")
	}
}
