//go:build linux

package endtoend_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mla/runtime/system/npy"
	"mla/tools/tests/deep"
)

// tolerances bound the difference from logits that were computed in another
// order of float32 operations, by the type of the cache: those of the CPU
// device, see runtime/engine's TestReference. A cache of halves rounds each of
// its numbers to 2^-11.
var tolerances = map[string]float64{"f32": 1e-3, "f16": 0.05}

// reference is a model file with its expected results.
type reference struct {
	model          string
	prompt, greedy []string  // token ids
	logits         []float32 // [len(prompt)][vocab]
}

func readReference(t *testing.T, model string) *reference {
	t.Helper()
	stem := strings.TrimSuffix(model, ".gguf")
	text, err := os.ReadFile(stem + ".tokens")
	if err != nil {
		t.Fatal(err)
	}
	ref := &reference{model: model}
	for line := range strings.Lines(string(text)) {
		switch words := strings.Fields(line); words[0] {
		case "prompt":
			ref.prompt = words[1:]
		case "greedy":
			ref.greedy = words[1:]
		}
	}
	var rows int
	if ref.logits, rows = readLogits(t, stem+".logits.npy"); rows != len(ref.prompt) || rows == 0 {
		t.Fatalf("%s: %d rows of logits for %d tokens", stem, rows, len(ref.prompt))
	}
	return ref
}

func readLogits(t *testing.T, path string) (logits []float32, rows int) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	logits, rows, _, err = npy.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return logits, rows
}

// models are the reference files and the shipped models.
func models(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(root + "testdata/reference/*.gguf")
	if err != nil || len(files) == 0 {
		t.Fatalf("no reference files: %v", err)
	}
	return append(files, root+"testdata/tinyglm.gguf", root+"testdata/tinychat.gguf")
}

// TestReference compares what `mlarun logits` writes with the reference, for all
// files; in the fast tier for two. Loads and stores of kernels are checked for one of them; those of all are
// checked by sim/replay.
func TestReference(t *testing.T) {
	for _, model := range models(t) {
		ref := readReference(t, model)
		name := strings.TrimSuffix(filepath.Base(model), ".gguf")
		kernels := "fast"
		if name == "glm47-tiny-Q4_0" {
			kernels = "run"
		}
		if !deep.On && name != "glm47-tiny-Q4_0" && name != "tinyglm" {
			continue
		}
		for kv := range tolerances {
			t.Run(name+" "+kv, func(t *testing.T) {
				t.Parallel()
				host.checkLogits(t, ref, kv, nil, "METALSIM_KERNELS="+kernels)
			})
		}
	}
}

// checkLogits fails unless mlarun writes the reference logits and leaves nothing.
func (m *machine) checkLogits(t *testing.T, ref *reference, kv string, flags []string, settings ...string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "logits.npy")
	args := append([]string{"logits", "-quiet", "-kv", kv, "-model", ref.model, "-tokens", strings.Join(ref.prompt, ","), "-o", path}, flags...)
	o := m.metal(t, settings, args)
	if o.err != nil || o.stderr != "" {
		t.Fatalf("%v\n%.3000s", o.err, o.stderr)
	}
	if err := o.left.clean(); err != nil {
		t.Error(err)
	}
	got, _ := readLogits(t, path)
	if len(got) != len(ref.logits) {
		t.Fatalf("%d logits, want %d", len(got), len(ref.logits))
	}
	worst := 0.0
	for i, want := range ref.logits {
		worst = max(worst, math.Abs(float64(got[i])-float64(want)))
	}
	t.Logf("logits within %.2g", worst)
	if !(worst <= tolerances[kv]) {
		t.Errorf("logits differ by %g; at most %g is allowed", worst, tolerances[kv])
	}
}
