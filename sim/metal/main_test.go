//go:build linux

// Package metal_test tests the Metal simulator (C++, in src) as programs see it:
// through objc_msgSend, without cgo, each program in a process of its own.
package metal_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"

	"mla/sim/metal/library"
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
	os.Exit(m.Run())
}

// build returns a library of the present sources; METALSIM_TEST_LIB names
// another one.
func build() (string, error) {
	if lib := os.Getenv(libVariable); lib != "" {
		return lib, nil
	}
	return library.Build("../..", runtime.GOARCH)
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

// child runs a case in a child process, with NAME=VALUE settings, and returns its output.
func child(t *testing.T, name string, env ...string) (output string, err error) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return childOf([]string{exe}, name, env...)
}

// childOf is child for a command line that starts this test binary, or one made
// for another machine.
func childOf(command []string, name string, env ...string) (output string, err error) {
	cmd := exec.Command(command[0], command[1:]...)
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
