package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLoad measures the shipped model for a moment: every test has its figures.
func TestLoad(t *testing.T) {
	mlarun := filepath.Join(t.TempDir(), "mlarun")
	if out, err := exec.Command("go", "build", "-o", mlarun, "mla/cmd/mlarun").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	l := &load{mlarun: mlarun, model: "../../testdata/tinyglm.gguf", device: "cpu", threads: 1, tokens: 16, rounds: 1, width: 3, prompt: 8, prefix: 256, rows: 4, first: 1}
	for _, name := range tests {
		if name.name == "workers" { // needs two processors of its own
			continue
		}
		rows, err := name.run(l)
		if err != nil {
			t.Fatalf("%s: %v", name.name, err)
		}
		for _, r := range rows {
			if strings.HasPrefix(r.Unit, "ms") && r.Median <= 0 || r.Unit == "tok/s" && r.Median <= 0 || r.Least > r.Median || r.Median > r.Most {
				t.Errorf("%+v", r)
			}
		}
	}
	long := *l
	long.tokens = 1 << 20
	if _, err := long.serve(1, 1, ""); err == nil || !strings.Contains(err.Error(), "this model allows 1 to") {
		t.Errorf("a server that does not start: %v", err)
	}
	var text strings.Builder
	if err := write(&text, "md", []row{newRow("a", "b", "ms", []float64{3, 1, 2}).atMost(2), newRow("a", "c", "", []float64{1, 2}).atLeast(2)}); err != nil {
		t.Fatal(err)
	}
	if got := text.String(); !strings.Contains(got, "| a | b | 2 ms | 1 to 3 | ≤ 2 | met |") || !strings.Contains(got, "| a | c | 1.5  | 1 to 2 | ≥ 2 | missed |") {
		t.Errorf("%s", got)
	}
}
