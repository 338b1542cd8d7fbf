//go:build linux

// Package library builds the Metal simulator, a shared library, for tests that run whole programs with it.
package library

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// targets maps Go's names of architectures to clang's target triples.
var targets = map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}

// Build builds the simulator from the sources in the checkout at root, for a Go architecture (amd64 or
// arm64), and returns the path of the library.
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
