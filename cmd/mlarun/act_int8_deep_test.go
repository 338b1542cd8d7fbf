//go:build deep

package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mla/runtime/device/linalg"
	"mla/runtime/system/npy"
)

// TestActInt8: -act q8 is named, is refused where it cannot be, and gives almost the logits
// that floats give, at every width.
func TestActInt8(t *testing.T) {
	if !linalg.HasInt8() {
		r := mlarun("", "greedy", "-tokens", "3", "-act", "q8", "-device", "cpu", "-model", youtu)
		if r.code != 1 || !strings.Contains(r.err, "loops of bytes for AVX2, AVX-512 and arm64 with SDOT only") {
			t.Errorf("code %d: %s", r.code, r.err)
		}
		return
	}
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"greedy -n 2 -tokens 3,40 -act q8 -device cpu -model " + youtu, 0, "bundle youtumini (f32 activations, rounded to bytes for products) on cpu"},
		{"bench -p 2 -n 0 -r 1 -act q8 -device cpu -o csv -quiet -model " + youtu, 0, "\npp2,q8,0,"},
		{"greedy -n 2 -tokens 3,40 -act q8 -device cpu -bundle youtuminif16 -model " + youtu, 1, "youtuminif16 has f16 activations"},
		{"greedy -n 2 -tokens 3,40 -act q8 -device cpu -simd go -model " + youtu, 1, "loops of bytes for AVX2, AVX-512 and arm64 with SDOT only; its loops here: go"},
		{"greedy -n 2 -tokens 3,40 -act q4 -model " + youtu, 2, "-act is \"q4\"; expected f32, f16 or q8"},
	} {
		r := mlarun("", strings.Fields(tt.args)...)
		if text := r.out + r.err; r.code != tt.code || !strings.Contains(text, tt.want) {
			t.Errorf("mlarun %s: code %d, want %d and %q:\n%s", tt.args, r.code, tt.code, tt.want, text)
		}
	}
	if err := linalg.SetBackend(bestBackend); err != nil {
		t.Fatal(err)
	}
	for _, model := range []string{youtu, references + "youtu-mini-Q4_K_M.gguf"} {
		floats := logitsOf(t, model, "f32", "16")
		for _, width := range []string{"1", "16"} {
			// An input is off by 1/254 of the largest of 32 or 256 at most, by a half of that
			// on average: some 1 % of a sum of random signs, which the layers add up to 2 or 3 %.
			if off := distance(logitsOf(t, model, "q8", width), floats); off < 1e-4 || off > 0.06 {
				t.Errorf("%s: logits of width %s are %.4f of themselves away from those of floats", model, width, off)
			}
		}
	}
}

// bestBackend is the one that a program begins with.
var bestBackend = linalg.Backend()

// logitsOf are the logits of some tokens.
func logitsOf(t *testing.T, model, act, width string) []float32 {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out.npy")
	if r := mlarun("", "logits", "-quiet", "-device", "cpu", "-act", act, "-width", width, "-tokens", "3,40,200,7,8,9", "-o", out, "-model", model); r.code != 0 {
		t.Fatal(r.err)
	}
	file, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	data, _, _, err := npy.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// distance is |a-b| / |b|.
func distance(a, b []float32) float64 {
	var off, all float64
	for i := range a {
		off += math.Pow(float64(a[i]-b[i]), 2)
		all += math.Pow(float64(b[i]), 2)
	}
	return math.Sqrt(off / all)
}
