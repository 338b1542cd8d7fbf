// Package execute runs Metal kernels on the CPU, so that tests can compare what
// the printed source computes with a reference. The source is compiled by
// clang++ as it is, with a metal_stdlib of our own; every thread of a
// threadgroup is a fiber, so barriers and simdgroup functions keep their
// meaning, and threads that miss one are found out. Threadgroups run one after
// the other: hazards between them do not show.
package execute

import (
	"bytes"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"mla/runtime/plan"
)

//go:embed cpp
var cpp embed.FS

// Program is a compiled Metal source.
type Program struct {
	binary string
}

// arrays are the threadgroup arrays that kernels declare.
var arrays = regexp.MustCompile(`(?m)^  threadgroup float (\w+)\[(\d+)\];`)

// Build compiles the source of b's kernels in dir.
func Build(b *plan.Bundle, source, dir string) (*Program, error) {
	source = arrays.ReplaceAllString(source, "  float * $1 = threadgroup_memory($2);")
	files := map[string]string{"kernels.cpp": source + entryPoints(b)}
	for _, name := range []string{"metal_stdlib", "driver.h", "driver.cpp"} {
		text, err := fs.ReadFile(cpp, "cpp/"+name)
		if err != nil {
			return nil, err
		}
		files[name] = string(text)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	compiler, err := findCompiler()
	if err != nil {
		return nil, err
	}
	p := &Program{binary: filepath.Join(dir, "kernels")}
	cmd := exec.Command(compiler, "-std=c++20", "-O1", "-ffp-contract=off", "-I.", "-DUNROLL=", "-Wno-unknown-attributes", "-o", p.binary, "driver.cpp", "kernels.cpp")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", compiler, err, out)
	}
	return p, nil
}

func findCompiler() (string, error) {
	for _, name := range []string{"clang++-19", "clang++"} {
		if _, err := exec.LookPath(name); err == nil {
			return name, nil
		}
	}
	return "", errors.New("running kernels on the CPU needs clang: apt-get install clang-19")
}

// entryPoints is a table of the kernels with functions that pass them their buffers.
func entryPoints(b *plan.Bundle) string {
	var table strings.Builder
	table.WriteString("\nconst entry_point entry_points[] = {\n")
	for i := range b.Kernels {
		k := &b.Kernels[i]
		for _, v := range k.Variants {
			var arguments []string
			for slot := range k.Slots {
				arguments = append(arguments, argument(k, slot))
			}
			fmt.Fprintf(&table, "    {%q, [](void **b, uint tg, uint tid, ushort sg, ushort lane) { %s(%s, tg, tid, sg, lane); }},\n",
				v.Func, v.Func, strings.Join(arguments, ", "))
		}
	}
	table.WriteString("    {nullptr, nullptr}};\n")
	return buffer + table.String()
}

// argument is a buffer as the kernel's parameter takes it.
func argument(k *plan.Kernel, slot int) string {
	switch k.Slots[slot].Elem {
	case plan.ElemStep:
		return fmt.Sprintf("*(const Step *)b[%d]", slot)
	case plan.ElemArgs:
		return fmt.Sprintf("*(const %s_args *)b[%d]", k.Name, slot)
	}
	return fmt.Sprintf("buffer{b[%d]}", slot)
}

// buffer is what a kernel's pointer parameters accept.
const buffer = `
struct buffer {
  void *p;
  template <typename T> operator T *() const { return (T *)p; }
};
`

// Run runs all groups of a kernel function on buffers, one per slot, in place.
func (p *Program) Run(function string, groups, threads int, buffers [][]byte) error {
	var in bytes.Buffer
	word := func(n int) { in.Write(binary.LittleEndian.AppendUint32(nil, uint32(n))) }
	word(len(function))
	in.WriteString(function)
	word(groups)
	word(threads)
	word(len(buffers))
	for _, b := range buffers {
		in.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(b))))
		in.Write(b)
	}
	cmd := exec.Command(p.binary)
	cmd.Stdin = &in
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("kernel %s: %w: %s", function, err, problems.Bytes())
	}
	for _, b := range buffers {
		if _, err := io.ReadFull(&out, b); err != nil {
			return fmt.Errorf("kernel %s: %w", function, err)
		}
	}
	return nil
}
