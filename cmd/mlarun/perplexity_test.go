package main

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"mla/runtime/device/linalg"
	"mla/tools/tests/deep"
)

// The shipped model's perplexity on testdata/perplexity.txt, in chunks of 128 with an f32
// cache: of all six, and of the first one. A program in Python made them of what `mlarun
// logits` writes.
const (
	shippedPerplexity      = 11.0136373
	shippedPerplexityFirst = 19.2156174
	perplexityTolerance    = 1e-4 // what the exact contract allows; sums in another order move it by 1e-6
)

var onText = []string{"perplexity", "-model", shipped, "-f", "testdata/perplexity.txt", "-c", "128", "-kv", "f32", "-quiet"}

// figure finds the number after some words of a report.
func figure(t *testing.T, r result, words string) float64 {
	t.Helper()
	m := regexp.MustCompile(regexp.QuoteMeta(words) + ` ?([0-9.e+-]+)`).FindStringSubmatch(r.out)
	if r.code != 0 || m == nil {
		t.Fatalf("code %d, no number after %q:\n%s%s", r.code, words, r.out, r.err)
	}
	x, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestPerplexity: the shipped model predicts the text as well as it does, with all inner
// loops of this machine and in the simulator of Metal.
func TestPerplexity(t *testing.T) {
	before := linalg.Backend()
	defer func() {
		if err := linalg.SetBackend(before); err != nil {
			t.Error(err)
		}
	}()
	loops := []string{before, "go"}
	if !deep.On {
		loops = loops[:1]
	}
	for _, simd := range loops {
		r := mlarun("", append(onText, "-simd", simd)...)
		if got := figure(t, r, "perplexity"); math.Abs(got-shippedPerplexity) > perplexityTolerance || !strings.HasSuffix(r.out, "), 378 tokens of 6 chunks of 128\n") {
			t.Errorf("-simd %s: %s; want %g", simd, r.out, shippedPerplexity)
		}
	}
	if !deep.On {
		return
	}
	r := process(t, []string{"METALSIM_KERNELS=fast", "XDG_CACHE_HOME=" + t.TempDir()}, append(onText, "-chunks", "1", "-device", "metal", "-metal-lib", simulator(t), "-replay", "encode")...)
	if got := figure(t, r, "perplexity"); math.Abs(got-shippedPerplexityFirst) > perplexityTolerance {
		t.Errorf("on Metal: %s; want %g", r.out, shippedPerplexityFirst)
	}
}

func TestPerplexityErrors(t *testing.T) {
	folder := t.TempDir()
	saved, other := filepath.Join(folder, "logits"), filepath.Join(folder, "other")
	if err := os.WriteFile(other, []byte("of somebody else"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := mlarun("", append(onText, "-chunks", "1", "-c", "32", "-save-logits", saved)...); r.code != 0 {
		t.Fatal(r.err)
	}
	data, err := os.ReadFile(saved)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-3] ^= 1
	damaged := filepath.Join(folder, "damaged")
	if err := os.WriteFile(damaged, data, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"-c", "3"}, 2, "-c is 3; expected 4 or more"},
		{[]string{"-chunks", "-1"}, 2, "-chunks is -1"},
		{[]string{"-p", "x"}, 2, "-p and -f cannot be used together"},
		{[]string{"-c", "2000"}, 1, "a chunk has 2000: use a longer text or a smaller context"},
		{[]string{"-c", "3000"}, 1, "this model allows 1 to 2048"},
		{[]string{"-compare", saved}, 1, "its chunks have 32 tokens, not 128"},
		{[]string{"-c", "32", "-compare", saved}, 1, "its text has 32 tokens, not "},
		{[]string{"-c", "32", "-compare", other}, 1, "is not a file of saved logits"},
		{[]string{"-c", "32", "-chunks", "1", "-compare", damaged}, 1, "the checksum of record 14 of 15 is wrong"},
		{[]string{"-c", "32", "-save-logits", other}, 1, "is not a file of saved logits; it is left as it is"},
		{[]string{"-c", "32", "-compare", filepath.Join(folder, "none")}, 1, "no such file"},
	} {
		if r := mlarun("", append(onText, tt.args...)...); r.code != tt.code || !strings.Contains(r.err, tt.want) {
			t.Errorf("%q: code %d, %q; want %d, %q", tt.args, r.code, r.err, tt.code, tt.want)
		}
	}
	if r := mlarun("", "perplexity", "-model", youtu, "-f", "testdata/perplexity.txt", "-c", "32", "-chunks", "1", "-compare", saved); !strings.Contains(r.err, "it has the logits of another model (made by tinyglm.gguf ") {
		t.Errorf("another model: code %d, %s", r.code, r.err)
	}
	if r := mlarun("", "perplexity", "-model", shipped); r.code != 2 || !strings.Contains(r.err, "no text") {
		t.Errorf("no text: code %d, %s", r.code, r.err)
	}
}
