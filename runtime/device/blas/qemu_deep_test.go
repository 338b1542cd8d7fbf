//go:build linux && amd64 && deep

package blas

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestArm64 checks calls of a library of linux/arm64. macOS has the same calling convention for these
// arguments: the last four are on the stack, and each takes eight bytes or is aligned to eight.
func TestArm64(t *testing.T) {
	lib := standIn(t, "--target=aarch64-linux-gnu")
	exe := filepath.Join(t.TempDir(), "arm64.test")
	build := exec.Command("go", "test", "-c", "-o", exe, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH=arm64")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go test -c: %v\n%s", err, out)
	}
	run := exec.Command("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", exe, "-test.run", "TestOpen$|TestChoose|TestDevice")
	run.Env = append(os.Environ(), libraryVariable+"="+lib)
	if out, err := run.CombinedOutput(); err != nil {
		t.Errorf("%v; scripts/tools.sh installs the emulator and its libraries\n%.4000s", err, out)
	}
}
