// Package frontend checks Metal source where there is no Metal compiler. Check parses it with clang in the
// mode C++ for OpenCL, which has the address spaces and restrictions of MSL, against a metal_stdlib header of
// this project. Lint finds errors that this mode accepts.
package frontend

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

//go:embed include
var include embed.FS

// minClang is the oldest version of clang whose mode C++ for OpenCL is known to suffice.
const minClang = 16

var extensions = strings.Join([]string{
	"+cl_khr_fp16", "-cl_khr_fp64", "-__opencl_c_fp64",
	"-__opencl_c_program_scope_global_variables", "-__opencl_c_pipes", "-__opencl_c_device_enqueue",
}, ",")

// needs32 matches how a source says that it needs version 3.2 of the language (macOS 15).
var needs32 = regexp.MustCompile(`(?m)^#if __METAL_VERSION__ < 320\n#error `)

// versions returns the values of __METAL_VERSION__ to check a source for: the oldest that it allows, and the
// one from which pragmas have other names.
func versions(source string) []int {
	if needs32.MatchString(source) {
		return []int{320}
	}
	return []int{310, 320}
}

// metalPragma matches Metal's name for a pragma that clang knows by another name. The names have the same
// length, so that messages keep their columns.
var metalPragma = regexp.MustCompile(`(?m)^#pragma METAL fp `)

// Check parses source strictly, for each version of the language that matters, and lints it. The error lists
// what clang and the lint report. Warnings are errors, and so are features that C++14 lacks, on which MSL
// below version 4 is based. threadgroupBytes is the largest threadgroup memory of a kernel.
func Check(source string, threadgroupBytes int) error {
	return check(source, threadgroupBytes, versions(source))
}

// CheckOldest is Check for only the oldest version that the source allows. It suffices for a source whose
// helpers and parts pass Check in other sources.
func CheckOldest(source string, threadgroupBytes int) error {
	return check(source, threadgroupBytes, versions(source)[:1])
}

func check(source string, threadgroupBytes int, versions []int) error {
	clang, err := findClang()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "msl")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	text := metalPragma.ReplaceAllString(source, "#pragma clang fp ")
	if err := os.WriteFile(filepath.Join(dir, "kernels.metal"), []byte(text), 0o600); err != nil {
		return err
	}
	if err := WriteIncludes(dir); err != nil {
		return err
	}
	for _, version := range versions {
		if err := parse(clang, dir, version); err != nil {
			return err
		}
	}
	return errors.Join(Lint(source, threadgroupBytes)...)
}

// parse lets clang check kernels.metal in dir. C++ for OpenCL is at least C++17; -Wpre-c++17-compat warns of
// what C++14 lacks.
func parse(clang, dir string, version int) error {
	cmd := exec.Command(clang, "-cc1", "-x", "clcpp", "-cl-std=clc++2021", "-triple", "spir64-unknown-unknown",
		"-cl-ext="+extensions, "-Iinclude", fmt.Sprintf("-D__METAL_VERSION__=%d", version), "-fsyntax-only", "-Wall", "-Wpre-c++17-compat", "-Werror",
		"-Wno-unknown-attributes", "-Wno-unused-function", "kernels.metal")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil || len(out) > 0 {
		return fmt.Errorf("%s rejects the Metal source in version %d.%d (%v):\n%s", clang, version/100, version/10%10, err, out)
	}
	return nil
}

// WriteIncludes writes the embedded headers below dir/include, for clang -Iinclude.
func WriteIncludes(dir string) error {
	return fs.WalkDir(include, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(dir, path), 0o700)
		}
		data, err := include.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, path), data, 0o600)
	})
}

var clangVersion = regexp.MustCompile(`clang version (\d+)`)

// findClang returns the name of a clang that is new enough.
func findClang() (string, error) {
	for _, name := range []string{"clang-19", "/opt/homebrew/opt/llvm@19/bin/clang", "clang"} {
		out, err := exec.Command(name, "--version").Output()
		m := clangVersion.FindSubmatch(out)
		if err != nil || m == nil {
			continue
		}
		if v, err := strconv.Atoi(string(m[1])); err == nil && v >= minClang {
			return name, nil
		}
	}
	return "", fmt.Errorf("the strict Metal front end needs clang %d or later: apt-get install clang-19", minClang)
}
