package main

import (
	"bytes"
	"flag"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"mla/gen"
	"mla/gen/spec"
	"mla/runtime/plan"
)

const root = "../.."

var compilePTX = flag.Bool("ptx", false, "compile the PTX of all bundles too; needs clang-19, and many minutes")

// example is the bundle whose PTX is always compiled on Linux: it takes the least time, three seconds.
const example = "yoututiny"

// compiles reports whether a bundle's PTX is compiled if no file has it.
func compiles(bundle string) bool {
	return *compilePTX || bundle == example && runtime.GOOS == "linux"
}

// TestFingerprints checks that each bundle has the hashes in specs/fingerprints.txt. Without -ptx, PTX is
// compared only for the example and for bundles whose PTX is in generated/.
func TestFingerprints(t *testing.T) {
	p, err := open(root)
	if err != nil {
		t.Fatal(err)
	}
	p.compile = compiles
	want, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	made, err := p.table()
	if err != nil {
		t.Fatal(err)
	}
	got := made
	if !*compilePTX {
		got = made.over(want, p.names())
	}
	if differ := changes(want, got); len(differ) > 0 {
		t.Errorf("%d of %d bundles are not what they were:\n%s\n\n"+
			"A clean-up must not change plans or kernels: find out why it did. Who changes them on purpose\n"+
			"updates %s in the same commit:\n\n  go run ./gen/fingerprint -update%s\n",
			len(differ), len(p.entries), strings.Join(differ, "\n"), path, map[bool]string{true: " -ptx"}[*compilePTX])
	} else if compiles(example) && made.value(example, ptxKind) == "" {
		t.Errorf("no PTX of %s was compared", example)
	} else if got.String() != want.String() {
		t.Errorf("%s has other lines in another order; mend it with: go run ./gen/fingerprint -update", path)
	}
}

// compiled is the fingerprints of a small bundle after a change.
func compiled(t *testing.T, change func(b *plan.Bundle)) table {
	t.Helper()
	s, err := spec.Load(filepath.Join(root, "specs", "youtumini.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := gen.Compile(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	change(b)
	made, err := fingerprints(b, true)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// replaced is a change of the source.
func replaced(t *testing.T, from, to string) func(b *plan.Bundle) {
	return func(b *plan.Bundle) {
		t.Helper()
		if !strings.Contains(b.Source, from) {
			t.Fatalf("the source has no %q", from)
		}
		b.Source = strings.Replace(b.Source, from, to, 1)
	}
}

// TestSensitive checks that every change that a device can see changes a fingerprint, and that no other
// change does.
func TestSensitive(t *testing.T) {
	was := compiled(t, func(*plan.Bundle) {})
	if p, c := len(was.kind(profileKind)), len(was.kind(cacheKind)); p < 2 || c < 3 {
		t.Fatalf("%d profiles and %d caches", p, c)
	}
	profiles := "2 of 2 profiles (q4_0, q4_k_m)"
	for _, tt := range []struct {
		name   string
		change func(b *plan.Bundle)
		want   string // beginnings of what changes, separated by ;
	}{
		{"a comment of the source", replaced(t, "\nkernel void ", "\n\n// A comment.\n  kernel  void "), ""},
		{"the spec's hash", func(b *plan.Bundle) { b.SpecHash = "x"; b.Source = strings.Replace(b.Source, "sha256:", "sha256:0", 1) }, ""},
		{"the plan alone", func(b *plan.Bundle) { b.Decode().Dispatches[1].Barrier = !b.Decode().Dispatches[1].Barrier }, "plan"},
		{"an argument of a kernel", func(b *plan.Bundle) { b.Kernels[0].Slots[0].Name = "x" }, "plan"},
		{"threads, which PTX is bound to", func(b *plan.Bundle) { b.Kernels[0].Threads *= 2 }, "plan;cuda"},
		{"a kernel's body", func(b *plan.Bundle) {
			at := strings.Index(b.Source, "kernel void o_proj_q4_k(")
			at += strings.Index(b.Source[at:], "{") + 1
			b.Source = b.Source[:at] + " ;" + b.Source[at:]
		}, "1 of 2 profiles (q4_k_m);CACHES;cuda"},
		{"the language", replaced(t, "#include <metal_stdlib>", "#include <metal_stdlib>\n#define X 1"), profiles + ";CACHES;cuda"},
	} {
		var got []string
		for _, line := range changes(was, compiled(t, tt.change)) {
			_, kinds, _ := strings.Cut(line, ": ")
			got = append(got, strings.Split(kinds, "; ")...)
		}
		want := strings.FieldsFunc(strings.Replace(tt.want, "CACHES", "3 of 3 caches", 1), func(r rune) bool { return r == ';' })
		if !slices.EqualFunc(got, want, strings.HasPrefix) {
			t.Errorf("%s: changed are %q; expected %q", tt.name, got, want)
		}
	}
}

// TestRun: the command prints the bundles that are named, and writes the table.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(root, []string{"yoututiny"}, false, true, false, &out); err != nil {
		t.Fatal(err)
	}
	made := parsed(t, out.String())
	want, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	want = want.of("yoututiny")
	functions := made.kind(functionKind)
	if len(functions) < 10 || len(made) != len(want)+len(functions) || len(changes(want, slices.DeleteFunc(made, func(l line) bool { return l.kind() == functionKind }))) != 0 {
		t.Errorf("%d lines, %d of them of functions; the table has %d", len(made), len(functions), len(want))
	}
	if err := run(root, []string{"yoututinx"}, false, false, false, &out); err == nil || !strings.Contains(err.Error(), "no bundle yoututinx; there are deepseekv2liteapple, ") {
		t.Error(err)
	}
	if err := run(t.TempDir(), nil, false, false, false, &out); err == nil || !strings.Contains(err.Error(), "no specs in ") {
		t.Error(err)
	}
}
