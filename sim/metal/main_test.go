//go:build linux

// Package metal_test tests the Metal simulator (C++, in src) as programs see it:
// through objc_msgSend, without cgo, each program in a process of its own.
package metal_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// The library under test, and the case that a child process runs.
const (
	libVariable  = "METALSIM_TEST_LIB"
	caseVariable = "METALSIM_TEST_CASE"
)

// TestMain builds the simulator, or runs one case in a child process.
func TestMain(m *testing.M) {
	if name := os.Getenv(caseVariable); name != "" {
		runCase(name)
		os.Exit(0)
	}
	lib, err := build()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Setenv(libVariable, lib)
	os.Setenv("METALSIM_CACHE", filepath.Dir(lib))
	os.Exit(m.Run())
}

// build returns a library made from the present sources; one that an earlier
// run made is taken again, and METALSIM_TEST_LIB names one that is there.
func build() (string, error) {
	if lib := os.Getenv(libVariable); lib != "" {
		return lib, nil
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintln(h, root) // a library knows the checkout whose headers it uses
	for _, pattern := range []string{"src/*", "build.sh", "../exec/*.h", "../exec/*/*.cpp", "../exec/*.cpp"} {
		names, err := filepath.Glob(pattern)
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
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("metalsim-%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	lib := filepath.Join(dir, hex.EncodeToString(h.Sum(nil)[:8])+".so")
	if _, err := os.Stat(lib); err == nil {
		return lib, nil
	}
	if out, err := exec.Command("sh", "build.sh", lib).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build.sh: %w\n%s", err, out)
	}
	return lib, nil
}

// compileOnce fills the cache of compiled kernels, so that the programs that run
// side by side do not all compile the same source.
var compileOnce sync.Once

func compileKernels(t *testing.T) {
	compileOnce.Do(func() {
		if out, err := child(t, "direct"); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	})
}

// child runs a case in a process of its own, with NAME=VALUE settings, and
// returns what it printed.
func child(t *testing.T, name string, env ...string) (output string, err error) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(append(os.Environ(), caseVariable+"="+name, "GOTRACEBACK=none"), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// runCase is the child's side.
func runCase(name string) {
	s, err := load(os.Getenv(libVariable))
	if err != nil {
		panic(err)
	}
	if c, ok := positive[name]; ok {
		c(s)
		return
	}
	for _, v := range violations {
		if v.name == name {
			v.run(s)
			return
		}
	}
	panic("no case " + name)
}

// ruleOf is the rule that a child's output names.
func ruleOf(output string) string {
	_, after, found := strings.Cut(output, "[metalsim] RULE ")
	if !found {
		return ""
	}
	rule, _, _ := strings.Cut(after, ":")
	return rule
}
