//go:build deep

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mla/gen"
	"mla/gen/ptx"
	"mla/gen/spec"
	"mla/runtime/plan/ptxfile"
)

// TestPTXDrift checks that -check compares PTX with the present kernels without running a compiler. PTX that
// is out of date is an error if a compiler is installed, and otherwise a note that names the compiler. A
// bundle without PTX is no error.
func TestPTXDrift(t *testing.T) {
	s, err := spec.Load(tinySpec)
	if err != nil {
		t.Fatal(err)
	}
	b, err := gen.Compile(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := ptx.Build(b)
	if err != nil {
		t.Fatal(err)
	}
	b.Source += "// an older version\n"
	stale, err := ptx.Build(b)
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	if code, _, stderr := mlagen("-spec", tinySpec, "-out", out); code != exitOK {
		t.Fatal(stderr)
	}
	for _, tt := range []struct {
		name string
		file []byte
		code int
		says string
	}{
		{"none", nil, exitOK, ""},
		{"fresh", fresh, exitOK, ""},
		{"stale", stale, exitDrift, "yoututiny.ptx.gz is out of date: it was made from another Metal source\nmend it with: rm "},
		{"damaged", stale[:100], exitDrift, "mend it with: rm "},
	} {
		if tt.file != nil {
			if err := os.WriteFile(filepath.Join(out, ptxfile.FileName("yoututiny")), tt.file, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		check := []string{"-spec", tinySpec, "-out", out, "-check"}
		code, _, stderr := mlagen(check...)
		if code != tt.code || !strings.Contains(stderr, tt.says) {
			t.Errorf("%s: exit %d, want %d and %q:\n%s", tt.name, code, tt.code, tt.says, stderr)
		}
		path := os.Getenv("PATH")
		t.Setenv("PATH", "") // no compiler
		code, stdout, stderr := mlagen(check...)
		note := strings.Contains(stderr, "yoututiny.ptx.gz is out of date") && strings.Contains(stderr, "needs clang-19: apt-get install clang-19")
		if code != exitOK || !strings.Contains(stdout, "yoututiny: 5 files, up to date") || note != (tt.code == exitDrift) {
			t.Errorf("%s, without a compiler: exit %d:\n%s%s", tt.name, code, stdout, stderr)
		}
		t.Setenv("PATH", path)
	}
	if err := os.Remove(filepath.Join(out, "zweights.go")); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := mlagen("-spec", tinySpec, "-out", out, "-check"); code != exitDrift || !strings.Contains(stderr, "mend it with: mlagen -spec "+tinySpec+" -out "+out) {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
