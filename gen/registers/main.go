// Command registers prints how many registers the kernels of Metal source take, and how many bytes they spill
// to memory. The devices' own compiler runs only on their system. So clang compiles the Metal source for a
// substitute GPU, with simdgroups of 32 threads and at most 128 registers per thread. The result ranks
// kernels and indicates spills; it does not predict the devices' numbers.
//
//	go run ./gen/registers             # prints the table of the shipped specs
//	go run ./gen/registers -update     # writes it to docs/lab/registers.tsv, beside what was there "before"
//
// With names of bundles, it counts only these.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mla/gen"
	"mla/gen/spec"
	"mla/gen/target"
	"mla/runtime/device"
	"mla/runtime/doctor/reference"
	"mla/runtime/plan"
	"mla/runtime/plan/pieces"
	"mla/runtime/system/atomicfile"
)

// specs are the specs all of whose kernels are counted, with weights of the profile below and caches of all
// types. For other specs, tests count only the kernels that depend on a model's heads and experts.
var specs = []string{"deepseekv2lite", "glm47flash", "youtu2b"}

const profile = "q4_0"

// path is the place of the table in the repository.
var path = filepath.Join("docs", "lab", "registers.tsv")

func main() {
	update := flag.Bool("update", false, "write "+path)
	flag.Parse()
	if err := run(*update, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "registers:", err)
		os.Exit(1)
	}
}

func run(update bool, names []string) error {
	var all table
	for _, name := range specs {
		of, err := bundles(filepath.Join("specs", name+".yaml"))
		if err != nil {
			return err
		}
		for _, b := range of {
			if len(names) > 0 && !slices.Contains(names, b.Name) {
				continue
			}
			list, err := counted(b, anyKernel)
			if err != nil {
				return fmt.Errorf("bundle %s: %w", b.Name, err)
			}
			for _, k := range list {
				all = append(all, row{bundle: b.Name, kernel: k})
			}
		}
	}
	if !update {
		fmt.Print(all.text(nil))
		return nil
	}
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, err := parseTable(string(old))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return atomicfile.Write(path, []byte(all.text(before)))
}

// bundles returns the bundles of a spec for devices that run Metal source.
func bundles(file string) (list []*plan.Bundle, err error) {
	s, err := spec.Load(file)
	if err != nil {
		return nil, err
	}
	for _, v := range s.Portable() {
		if v.Class != target.MetalClass {
			continue
		}
		b, err := gen.Compile(v, nil)
		if err != nil {
			return nil, err
		}
		list = append(list, b)
	}
	return list, nil
}

// counted returns the resources of the kernels for which wanted is true and that a model of the profile runs;
// if the bundle lacks the profile, of its first profile.
func counted(b *plan.Bundle, wanted func(*plan.Kernel) bool) ([]kernel, error) {
	i := max(0, slices.IndexFunc(b.Profiles, func(p plan.Profile) bool { return p.Name == profile }))
	var functions []string
	for _, kv := range plan.CacheTypes(b.Model.KVLoraRank, b.Model.QKRopeHeadDim) {
		of, err := reference.Profile(b, &b.Profiles[i]).Functions(device.Config{KV: kv, Width: b.Width()}, "")
		if err != nil {
			return nil, err
		}
		for _, f := range of {
			if !slices.Contains(functions, f) && wanted(kernelOf(b, f)) {
				functions = append(functions, f)
			}
		}
	}
	return countFunctions(b, functions)
}

// kernelOf returns the kernel of a bundle that has a variant with a name.
func kernelOf(b *plan.Bundle, function string) *plan.Kernel {
	for i := range b.Kernels {
		if slices.ContainsFunc(b.Kernels[i].Variants, func(v plan.Variant) bool { return v.Func == function }) {
			return &b.Kernels[i]
		}
	}
	return nil
}

func anyKernel(*plan.Kernel) bool { return true }

// countFunctions returns the resources of some kernel functions of a bundle.
func countFunctions(b *plan.Bundle, functions []string) ([]kernel, error) {
	source, err := pieces.Parse(b.Metal()).Cut(functions)
	if err != nil {
		return nil, err
	}
	list, err := count(source)
	for i := range list {
		list[i].memory = memoryOf(source, list[i].name)
	}
	return list, err
}

// row is a kernel of a bundle; table is the file of them.
type row struct {
	bundle string
	kernel
}
type table []row

const head = `# Registers and bytes of spill of a thread, by clang-19 for a GPU that stands in, and bytes of threadgroup memory:
# go run ./gen/registers -update. "before" is what the kernels had that were shaped for another class.
bundle	kernel	registers	spill	registers before	spill before	memory
`

// text returns the table, with columns for the values in an older table.
func (t table) text(before table) string {
	var s strings.Builder
	s.WriteString(head)
	for _, r := range t {
		was := "-\t-"
		if i := slices.IndexFunc(before, func(o row) bool { return o.bundle == r.bundle && o.name == r.name }); i >= 0 {
			was = fmt.Sprintf("%d\t%d", before[i].registers, before[i].spill)
		}
		fmt.Fprintf(&s, "%s\t%s\t%d\t%d\t%s\t%d\n", r.bundle, r.name, r.registers, r.spill, was, r.memory)
	}
	return s.String()
}

// parseTable reads the columns "before" of a table, or the current ones in rows that have none.
func parseTable(text string) (t table, err error) {
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "bundle\t") {
			continue
		}
		var r row
		var registers, spill string
		if _, err := fmt.Sscanf(line, "%s %s %d %d %s %s", &r.bundle, &r.name, &r.registers, &r.spill, &registers, &spill); err != nil {
			return nil, fmt.Errorf("row %d: %w", i+1, err)
		}
		if registers != "-" {
			if _, err := fmt.Sscan(registers+" "+spill, &r.registers, &r.spill); err != nil {
				return nil, fmt.Errorf("row %d: %w", i+1, err)
			}
		}
		t = append(t, r)
	}
	return t, nil
}
