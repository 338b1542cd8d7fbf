package ptx

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// onCPU compiles a program of testdata that includes headers for this machine.
func onCPU(t *testing.T, source string, flags ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	args := append(flags, "-Iinclude", "-x", "c++", "-std=c++20", "-ffp-contract=off", "-pthread", "-o", program, source, "-x", "none", "-lstdc++", "-lm")
	if runtime.GOARCH == "amd64" {
		args = append(args, "-mfma", "-mf16c")
	}
	if out, err := exec.Command(clang, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// TestMath runs the functions of math.h on the CPU for every 1,009th float and allows few units in the last
// place. Half a unit is the final rounding. The rest: exp and exp2 round their reduced argument and the
// polynomial, log its two parts, rsqrt the square root before the division.
func TestMath(t *testing.T) {
	cmd := exec.Command(onCPU(t, "testdata/math.cpp", "-O2", "-DSTRIDE=1009"))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	most := map[string]float64{"exp": 1.1, "exp2": 1.1, "log": 1.0, "rsqrt": 1.5}
	seen := 0
	for lines := bufio.NewScanner(out); lines.Scan(); seen++ {
		var name, at string
		var ulps float64
		if _, err := fmt.Sscan(lines.Text(), &name, &ulps, &at); err != nil || !(ulps <= most[name]) {
			t.Errorf("%s: off by %v units in the last place at %s, want at most %v (%v)", name, ulps, at, most[name], err)
		}
	}
	if err := cmd.Wait(); err != nil || seen != len(most) {
		t.Errorf("%d functions measured, want %d (%v)", seen, len(most), err)
	}
}

// TestMatrix runs <metal_simdgroup_matrix> on a warp of CPU threads whose two
// instructions of the tensor cores follow the PTX manual.
func TestMatrix(t *testing.T) {
	if out, err := exec.Command(onCPU(t, "testdata/matrix.cpp", "-O1", "-Itestdata/warp")).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestBytes checks that the single instructions of integer.h give the same words as the generic definitions
// of the templates.
func TestBytes(t *testing.T) {
	if out, err := exec.Command(onCPU(t, "testdata/bytes.cpp", "-O1")).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
