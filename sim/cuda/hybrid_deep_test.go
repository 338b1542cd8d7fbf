//go:build linux && deep

package cuda_test

import (
	"archive/zip"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestHybrid compiles a file with linear attention for NVIDIA GPUs, as a user does, and runs it on the stand-in.
func TestHybrid(t *testing.T) {
	const stem = "../../testdata/hybrid/kimi-linear-mini-Q4_0"
	dir := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", dir, "mla/cmd/mlagen", "mla/cmd/mlarun").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	bundle, logits := filepath.Join(dir, "my.mla"), filepath.Join(dir, "logits.npy")
	if out, err := exec.Command(filepath.Join(dir, "mlagen"), "-gguf", stem+".gguf", "-ptx", "-o", bundle).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	tokens, err := os.ReadFile(stem + ".tokens")
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(tokens), "\n")
	prompt := strings.Join(strings.Fields(strings.TrimPrefix(first, "prompt ")), ",")
	cmd := exec.Command(filepath.Join(dir, "mlarun"), "logits", "-quiet", "-device", "cuda", "-cuda-lib", os.Getenv(libVariable), "-kv", "f32",
		"-model", stem+".gguf", "-bundle", bundle, "-tokens", prompt, "-o", logits)
	cmd.Env = append(os.Environ(), "CUDASIM_METAL="+unpacked(t, bundle), "CUDASIM_KERNELS=fast")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%.3000s", err, out)
	}
	got, want := array(t, logits), array(t, stem+".logits.npy")
	if len(got) != len(want) {
		t.Fatalf("%d logits; expected %d", len(got), len(want))
	}
	for i := range want {
		if !(math.Abs(float64(got[i])-float64(want[i])) <= 1e-3) { // another order of float32 sums, as on the CPU
			t.Fatalf("logit %d is %g; expected %g", i, got[i], want[i])
		}
	}
}

// unpacked is a file with the Metal source of a bundle file, from which the stand-in makes its kernels.
func unpacked(t *testing.T, bundle string) string {
	t.Helper()
	z, err := zip.OpenReader(bundle)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, f := range z.File {
		if !strings.HasPrefix(f.Name, "kernels/") {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		path := strings.TrimSuffix(bundle, ".mla") + ".metal"
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Fatalf("%s has no kernels", bundle)
	return ""
}
