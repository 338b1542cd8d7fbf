//go:build linux

// Package library builds the Metal simulator for tests that run programs on it.
package library

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
)

// sources are the files that a library is made from, below the root of the
// checkout.
var sources = []string{"sim/metal/src/*", "sim/metal/build.sh", "sim/exec/*.h", "sim/exec/*.cpp", "sim/exec/*/*.cpp"}

// targets names Go's architectures to clang.
var targets = map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}

// Build returns the path of a simulator for a Go architecture (amd64 or arm64),
// made from the present sources of the checkout at root. It stays in a folder for
// all test runs of a user, where a later run finds it and where compiled kernels
// can be kept too: they have METALSIM_CACHE name that folder.
func Build(root, arch string) (path string, err error) {
	if root, err = filepath.Abs(root); err != nil {
		return "", err
	}
	hash, err := hashSources(root)
	if err != nil {
		return "", err
	}
	folder := filepath.Join(os.TempDir(), fmt.Sprintf("metalsim-%d", os.Getuid()))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	path = filepath.Join(folder, hash+"-"+arch+".so")
	unlock, err := lock(path + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	cmd := exec.Command("sh", filepath.Join(root, "sim/metal/build.sh"), path)
	if arch != runtime.GOARCH {
		cmd.Env = append(os.Environ(), "CXXFLAGS=--target="+targets[arch])
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build.sh for %s: %w\n%s", arch, err, out)
	}
	return path, nil
}

// hashSources is a name for the present sources. It covers the root too: a
// library knows the checkout whose headers it uses.
func hashSources(root string) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, root)
	for _, pattern := range sources {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return "", err
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(h, "%s %d\n", name, len(b))
			h.Write(b)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}

// lock keeps other processes from building the same library: tests of several
// packages run side by side.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { f.Close() }, nil
}
