//go:build linux

// Package library builds the Metal simulator for tests that run programs on it.
package library

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// targets names Go's architectures to clang.
var targets = map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}

// Build returns the path of a simulator for a Go architecture (amd64 or arm64), which it
// makes from the present sources of the checkout at root.
func Build(root, arch string) (path string, err error) {
	if root, err = filepath.Abs(root); err != nil {
		return "", err
	}
	path = filepath.Join(root, "build", "libmetalsim.so")
	cmd := exec.Command("sh", filepath.Join(root, "sim/metal/build.sh"), path)
	if arch != runtime.GOARCH {
		path = filepath.Join(root, "build", "libmetalsim-"+arch+".so")
		cmd.Args[2] = path
		cmd.Env = append(os.Environ(), "CXXFLAGS=--target="+targets[arch])
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build.sh for %s: %w\n%s", arch, err, out)
	}
	return path, nil
}
