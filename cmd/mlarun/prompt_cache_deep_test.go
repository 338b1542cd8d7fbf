//go:build deep

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPromptCacheOtherDevice: what the CPU has left serves Metal.
func TestPromptCacheOtherDevice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache")
	text := longText(t, 800)
	file := path + ".txt" // its lines would be arguments
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	want := cached(path, text)
	if want.code != 0 {
		t.Fatal(want.err)
	}
	r := process(t, []string{"METALSIM_KERNELS=fast", "XDG_CACHE_HOME=" + t.TempDir()}, "-act", "f32", "-device", "metal", "-metal-lib", simulator(t), "-replay", "encode",
		"-model", shipped, "-n", "6", "-temp", "0", "-prompt-cache", path, "-f", file)
	if r.code != 0 || r.out != want.out || !strings.Contains(r.err, "prompt 1 token") {
		t.Errorf("code %d, %q; want %q\n%s", r.code, r.out, want.out, r.err)
	}
}
