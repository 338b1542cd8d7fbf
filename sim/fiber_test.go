//go:build linux

package sim_test

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestFiber switches stacks.
func TestFiber(t *testing.T) { switches(t, nil, nil) }

// switches builds testdata/fiber.cpp for a target of clang's and runs it.
func switches(t *testing.T, target, emulator []string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "fiber")
	build := append(target, "-std=c++20", "-O1", "-Wall", "-Werror", "-o", program, "testdata/fiber.cpp", "exec/runtime/fiber.cpp")
	compiler := "clang++-19"
	if _, err := exec.LookPath(compiler); err != nil {
		compiler = "/opt/homebrew/opt/llvm@19/bin/clang++" // see scripts/tools.sh
	}
	if out, err := exec.Command(compiler, build...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := append(emulator, program)
	if out, err := exec.Command(run[0], run[1:]...).CombinedOutput(); err != nil || string(out) != "OK\n" {
		t.Errorf("%v: %s", err, out)
	}
}
