package describe_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// browsers are the names of Chromium that scripts/tools.sh looks for.
var browsers = []string{"chromium", "chromium-browser", "google-chrome", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"}

// browse opens a page in a browser without a window, and returns what it has become.
func browse(t *testing.T, page []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, page, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range browsers {
		if _, err := exec.LookPath(name); err != nil {
			continue
		}
		cmd := exec.Command(name, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+t.TempDir(), "--virtual-time-budget=5000", "--dump-dom", "file://"+path)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v", cmd, err)
		}
		return string(out)
	}
	t.Fatalf("none of %q is here; scripts/tools.sh installs one", browsers)
	return ""
}

// TestPage opens the page in a browser: every dispatch is there with its barrier, the times
// can be chosen, and a dispatch that is pointed at is told about.
func TestPage(t *testing.T) {
	r := report(t, "../../specs/glm47mini.yaml", 100)
	page, err := r.HTML()
	if err != nil {
		t.Fatal(err)
	}
	if m := regexp.MustCompile(`(?i)(src|href)=|https?://|@import|url\(`).Find(page); m != nil {
		t.Errorf("the page asks for something else: %q", m)
	}
	last := len(r.Predictions) - 1
	point := fmt.Sprintf(`<script>$("source").selectedIndex = %d; show(); document.querySelector('[data-step="2"]').onmouseenter();</script>`, last)
	dom := browse(t, append(page, point...))
	for what, want := range map[string]int{
		fmt.Sprintf(`data-ready="%d"`, len(r.Dispatches)): 1,
		`class="dispatch`:         len(r.Dispatches),
		`class="dispatch barrier`: r.BarriersPerToken,
		` data-step="`:            len(r.Dispatches),
		`class="swatch"`:          len(r.Kernels),
		` on" data-step="2"`:      1,
		"<option>":                len(r.Predictions),
		fmt.Sprintf("of %.0f GB/s, ", r.Predictions[last].BandwidthGBs): 1,
		">2: " + r.Dispatches[2].Variant + "<":                          1,
		"NaN":                                                           0,
		"undefined":                                                     0,
	} {
		body := dom
		if _, after, ok := strings.Cut(dom, "<body"); ok {
			body = regexp.MustCompile(`(?s)<script>.*?</script>`).ReplaceAllString(after, "")
		}
		if got := strings.Count(body, what); got != want {
			t.Errorf("%q is there %d times; want %d", what, got, want)
		}
	}
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

// TestMeasured: times that mlarun has measured of what lies between two barriers are those
// of the dispatches; a file of something else is refused.
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
