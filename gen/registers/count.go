package main

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"mla/gen/msl/frontend"
	"mla/gen/objects"
)

//go:embed include
var include embed.FS

// kernel has the resources that a kernel takes on the substitute GPU.
type kernel struct {
	name      string
	registers int // vector registers of 32 bits of a thread
	spill     int // bytes of a thread that are spilled to memory
	memory    int // bytes of threadgroup memory
}

// compiler is the clang that knows the substitute GPU, and standIn its name for it.
const compiler, standIn = "clang-19", "amdgcn"

// install says how to install the compiler.
const install = "apt-get install clang-19 (Debian's has the target " + standIn + ")"

// flags are those of gen/msl/frontend, for a GPU with simdgroups of 32 threads. The scheduler is off, so
// instructions stay in the order of the source: it would use registers to keep more loads in flight, as suits
// the substitute GPU.
var flags = []string{"-cc1", "-x", "clcpp", "-cl-std=clc++2021", "-triple", standIn + "-amd-amdhsa", "-target-cpu", "gfx1100",
	"-target-feature", "+wavefrontsize32", "-cl-ext=+cl_khr_fp16,+__opencl_c_generic_address_space", "-Ibodies/include", "-Iinclude",
	"-D__METAL_VERSION__=310", "-O2", "-mllvm", "-enable-misched=false", "-Wno-everything", "-fno-threadsafe-statics", "-ffp-contract=off", "-S", "-o", "-", "kernels.metal"}

// has returns an error that says why the substitute cannot be compiled for, or nil.
func has() error {
	out, err := exec.Command(compiler, "--print-targets").Output()
	if err != nil {
		return fmt.Errorf("counting registers needs %s: %s (%w)", compiler, install, err)
	}
	if !strings.Contains(string(out), " "+standIn+" ") {
		return fmt.Errorf("%s has no target %s, for which registers are counted: %s", compiler, standIn, install)
	}
	return nil
}

var (
	positions = regexp.MustCompile(`uint tg\s*\[\[threadgroup_position_in_grid\]\][^{]*\)\s*\{`)
	kernels   = regexp.MustCompile(`\bkernel void\b`)
	pragma    = regexp.MustCompile(`(?m)^#pragma METAL fp `)
)

// most is the largest number of registers of a thread: that of the oldest devices that run Metal source.
const most = 128

// prepared returns Metal source for the substitute's compiler: threads have at most most registers, positions
// come from functions, and pragmas have the names that clang knows.
func prepared(source string) string {
	source = kernels.ReplaceAllString(source, fmt.Sprintf("__attribute__((amdgpu_num_vgpr(%d))) kernel void", most))
	source = positions.ReplaceAllString(source, "uint unused) { POSITIONS;")
	return pragma.ReplaceAllString(source, "#pragma clang fp ")
}

// count compiles the kernels of a source for the substitute, and returns their resources. Results are cached.
func count(source string) ([]kernel, error) {
	key, err := keyOf(source)
	if err != nil {
		return nil, err
	}
	text, ok := objects.Find(key)
	if !ok {
		if text, err = compile(source); err != nil {
			return nil, err
		}
		text = []byte(facts(string(text)))
		_ = objects.Keep(key, text) // if it fails, they are counted again next time
	}
	return parse(string(text))
}

// keyOf returns the cache key of everything that is compiled.
func keyOf(source string) (string, error) {
	version, err := exec.Command(compiler, "--version").Output()
	if err != nil {
		return "", has()
	}
	parts := []string{"registers", string(version), strings.Join(flags, " "), prepared(source)}
	for _, name := range []string{"metal_stdlib", "metal_simdgroup_matrix"} {
		text, err := include.ReadFile("include/" + name)
		if err != nil {
			return "", err
		}
		parts = append(parts, string(text))
	}
	return objects.Key(parts...), nil
}

// compile returns the assembly of a source's kernels.
func compile(source string) ([]byte, error) {
	if err := has(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "registers")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := errors.Join(frontend.WriteIncludes(dir), os.CopyFS(filepath.Join(dir, "bodies"), include),
		os.WriteFile(filepath.Join(dir, "kernels.metal"), []byte(prepared(source)), 0o600)); err != nil {
		return nil, err
	}
	cmd := exec.Command(compiler, flags...)
	cmd.Dir = dir
	text, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil, fmt.Errorf("%s for %s: %w\n%s", compiler, standIn, err, exit.Stderr)
	}
	return text, err
}

// fact matches a line of the assembly about a kernel's name or resources.
var fact = regexp.MustCompile(`(?m)^(?:\t\.type\t(\w+),@function|; NumVgprs: (\d+)|; ScratchSize: (\d+))$`)

// facts returns these lines.
func facts(assembly string) string { return strings.Join(fact.FindAllString(assembly, -1), "\n") }

// parse reads these lines.
func parse(facts string) (list []kernel, err error) {
	for _, m := range fact.FindAllStringSubmatch(facts, -1) {
		last := len(list) - 1
		switch {
		case m[1] != "":
			list = append(list, kernel{name: m[1], registers: -1, spill: -1})
		case last < 0:
			return nil, errors.New("the assembly has figures before the first kernel")
		case m[2] != "":
			list[last].registers, err = strconv.Atoi(m[2])
		default:
			list[last].spill, err = strconv.Atoi(m[3])
		}
		if err != nil {
			return nil, err
		}
	}
	for _, k := range list {
		if k.registers < 0 || k.spill < 0 {
			return nil, fmt.Errorf("the assembly does not say what %s takes", k.name)
		}
	}
	if len(list) == 0 {
		return nil, errors.New("the assembly has no kernels")
	}
	return list, nil
}

// memoryOf returns the threadgroup memory that a kernel of Metal source declares, in bytes.
func memoryOf(source, name string) int {
	_, text, _ := strings.Cut(source, "kernel void "+name+"(")
	text, _, _ = strings.Cut(text, "\n}")
	m := scratch.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1]) // digits
	return n * 16
}

var scratch = regexp.MustCompile(`threadgroup float4 scratch\[(\d+)\]`)
