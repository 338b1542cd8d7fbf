//go:build linux

// Package cuda_test tests the stand-in for NVIDIA's driver (C++, in src) as
// programs see it, each program in a process of its own.
package cuda_test

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mla/runtime/device/cuda/cu"
)

// The library under test, and the case that a child process runs.
const (
	libVariable  = "CUDASIM_TEST_LIB"
	caseVariable = "CUDASIM_TEST_CASE"
)

// TestMain builds the stand-in, or runs one case in a child process.
func TestMain(m *testing.M) {
	if name := os.Getenv(caseVariable); name != "" {
		runCase(name)
		os.Exit(0)
	}
	os.Exit(tests(m))
}

func tests(m *testing.M) int {
	lib, err := build()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// Of this run alone: other checkouts have other kernels.
	folder, err := os.MkdirTemp("", "cudasim")
	if err == nil {
		defer os.RemoveAll(folder)
		err = writeKernels(folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	os.Setenv(libVariable, lib)
	return m.Run()
}

// build returns a library made from the present sources; CUDASIM_TEST_LIB names one that
// is there.
func build() (string, error) {
	if lib := os.Getenv(libVariable); lib != "" {
		return lib, nil
	}
	lib, err := filepath.Abs("../../build/libcudasim.so")
	if err != nil {
		return "", err
	}
	if out, err := exec.Command("sh", "build.sh", lib).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build.sh: %w\n%s", err, out)
	}
	return lib, nil
}

// child runs a case in a child process, with NAME=VALUE settings, and returns its output.
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
	s := load(os.Getenv(libVariable))
	if c, ok := positive[name]; ok {
		c(s)
		return
	}
	if name == "two sizes" {
		twoSizes(s)
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
	_, after, found := strings.Cut(output, "[cudasim] RULE ")
	if !found {
		return ""
	}
	rule, _, _ := strings.Cut(after, ":")
	return rule
}

// TestExports compares the functions that the simulator exports with the runtime's table of driver functions.
func TestExports(t *testing.T) {
	file, err := elf.Open(os.Getenv(libVariable))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	symbols, err := file.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	var exported, table []string
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF && strings.HasPrefix(s.Name, "cu") && !strings.HasPrefix(s.Name, "cudasim_") {
			exported = append(exported, s.Name)
		}
	}
	for _, f := range cu.Functions {
		table = append(table, f.Name)
	}
	slices.Sort(exported)
	slices.Sort(table)
	if !slices.Equal(exported, table) {
		t.Errorf("exported\n%v\nthe table has\n%v", exported, table)
	}
}
