//go:build deep

package describe_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// browsers are the names of Chromium that scripts/tools.sh looks for.
var browsers = []string{"chromium", "chromium-browser", "google-chrome", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"}

// browse opens a page in a headless browser and returns the resulting document.
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

// TestPage opens the page in a browser. Every dispatch must be present with its barrier, the kind of times
// can be chosen, and hovering over a dispatch shows its details.
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
