//go:build linux && amd64 && deep

package metal_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"mla/sim/metal/library"
)

// TestArm64 runs all programs for linux/arm64, whose calling convention Apple
// Silicon's follows, under an emulator.
func TestArm64(t *testing.T) {
	lib, err := library.Build("../..", "arm64")
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(t.TempDir(), "arm64.test")
	build := exec.Command("go", "test", "-c", "-o", exe, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH=arm64")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go test -c: %v\n%s", err, out)
	}
	// The loader and libraries are those of Debian's cross compiler.
	command := []string{"qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", exe}
	if out, err := childOf(command, "direct", libVariable+"="+lib); err != nil { // fills the cache of kernels
		t.Fatalf("%v; scripts/tools.sh installs the emulator and its libraries\n%s", err, out)
	}
	for name := range positive {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if out, err := childOf(command, name, libVariable+"="+lib); err != nil {
				t.Errorf("%v\n%.2000s", err, out)
			}
		})
	}
	for _, v := range violations {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			out, err := childOf(command, v.name, append(v.env, libVariable+"="+lib)...)
			if got := ruleOf(out); err == nil || got != v.rule {
				t.Errorf("rule %q (%v), want %q\n%.2000s", got, err, v.rule, out)
			}
		})
	}
}
