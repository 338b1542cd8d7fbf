//go:build linux && amd64 && deep

package linalg

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// arm64Tests are the tests of this package that compare loops with exact sums, with each other, and with the edges of
// memory.
const arm64Tests = "Rows|Decode|Int8|Product|Panel|Exp|Vector|Halves|Scaled|Complete|NotFinite|StayInside|Faults|Alloc"

// TestArm64 runs them for linux/arm64 under an emulator: on a processor with SDOT and SMMLA, on one without the
// second, and on one with neither. macOS has the same calling convention in Go's assembly.
func TestArm64(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "arm64.test")
	build := exec.Command("go", "test", "-c", "-o", exe, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=arm64")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go test -c: %v\n%s", err, out)
	}
	for _, processor := range []string{"max", "neoverse-n1", "cortex-a72"} {
		t.Run(processor, func(t *testing.T) {
			t.Parallel()
			tests := arm64Tests
			if processor != "max" {
				tests = "Int8|Complete" // all else is the same
			}
			out, err := exec.Command("qemu-aarch64", "-cpu", processor, exe, "-test.v", "-test.run", tests).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "--- PASS: TestKernelsComplete") {
				t.Errorf("%v; scripts/tools.sh installs the emulator\n%.4000s", err, out)
			}
		})
	}
}

// TestArm64Vet checks the assembly against its declarations for the systems that run it.
func TestArm64Vet(t *testing.T) {
	for _, system := range []string{"linux", "darwin"} {
		vet := exec.Command("go", "vet", ".")
		vet.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH=arm64")
		if out, err := vet.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", system, err, out)
		}
	}
}
