package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mla/gen/spec"
)

// tinySpec is the smallest of the shipped specs, with its path from here.
const tinySpec = "../../specs/yoututiny.yaml"

// mlagen runs a command line and returns what it printed.
func mlagen(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestExitCodes(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(bad, []byte("model:\n  hidden_sice: 3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{nil, exitUsage, "nothing to do"},
		{[]string{"-h"}, exitOK, ""},
		{[]string{"-spec"}, exitUsage, "flag needs an argument"},
		{[]string{"-spec", tinySpec, "-all"}, exitUsage, "either"},
		{[]string{"-spec", tinySpec, "extra"}, exitUsage, "extra"},
		{[]string{"-nothing"}, exitUsage, "nothing"},
		{[]string{"-spec", "missing.yaml"}, exitError, "missing.yaml"},
		{[]string{"-spec", bad}, exitError, "bad.yaml:2:3"},
		{[]string{"-spec", tinySpec, "-disable", "absorb"}, exitError, "cannot be switched off"},
		{[]string{"-spec", tinySpec, "-disable", "nothing"}, exitError, "fuse_norm"},
		{[]string{"init", "-o", "x.yaml"}, exitUsage, "-gguf"},
		{[]string{"init", "-gguf", "missing.gguf", "-o", filepath.Join(t.TempDir(), "x.yaml")}, exitError, "missing.gguf"},
		{[]string{"describe", "-spec", tinySpec, "-quant", "q9"}, exitUsage, "q9"},
		{[]string{"describe", "-spec", tinySpec, "-depth", "-1"}, exitUsage, "depth"},
		{[]string{"dump", "-spec", tinySpec, "-after", "nothing"}, exitError, "nothing"},
		{[]string{"synth", "-spec", tinySpec, "-quant", "q9", "-o", filepath.Join(t.TempDir(), "x.gguf")}, exitError, "the spec's own profiles: \""},
		{[]string{"synth", "-spec", tinySpec, "-quant", "q4_0", "-o", tinySpec}, exitError, "exists; -f overwrites it"},
	} {
		code, _, stderr := mlagen(c.args...)
		if code != c.code || !strings.Contains(stderr, c.says) || (code == exitUsage) != strings.HasSuffix(stderr, " -h lists its flags\n") {
			t.Errorf("mlagen %v: exit %d, want %d; stderr should say %q:\n%s", c.args, code, c.code, c.says, stderr)
		}
	}
}

// TestDrift: a fresh bundle passes -check; a changed, a missing and an orphaned
// file do not, the message has the command that mends it, and that command does.
func TestDrift(t *testing.T) {
	out := filepath.Join(t.TempDir(), "bundle")
	generate := []string{"-spec", tinySpec, "-out", out}
	check := append([]string{"-check"}, generate...)
	if code, _, stderr := mlagen(check...); code != exitDrift || !strings.Contains(stderr, "mlagen -spec "+tinySpec+" -out "+out) {
		t.Errorf("nothing generated yet: exit %d, %s", code, stderr)
	}
	for _, damage := range []func() error{
		func() error {
			return os.WriteFile(filepath.Join(out, "zdispatch.go"), []byte(headerMark+"specs/yoututiny.yaml (older)\npackage x\n"), 0o644)
		},
		func() error { return os.Remove(filepath.Join(out, "yoututiny.metal")) },
		func() error {
			return os.WriteFile(filepath.Join(out, "zold.go"), []byte(headerMark+"specs/yoututiny.yaml (older)"), 0o644)
		},
	} {
		if code, _, stderr := mlagen(generate...); code != exitOK {
			t.Fatalf("exit %d: %s", code, stderr)
		}
		if code, _, stderr := mlagen(check...); code != exitOK {
			t.Errorf("fresh bundle: exit %d: %s", code, stderr)
		}
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		if code, _, _ := mlagen(check...); code != exitDrift {
			t.Errorf("damaged bundle: exit %d", code)
		}
		for _, flag := range []string{"-n", "-diff"} {
			if code, stdout, _ := mlagen(append([]string{flag}, generate...)...); code != exitOK || !strings.Contains(stdout, out) {
				t.Errorf("%s: exit %d, %q", flag, code, stdout)
			}
		}
	}
}

// TestForeignFiles: a file that mlagen did not write stays.
func TestForeignFiles(t *testing.T) {
	out := t.TempDir()
	own := filepath.Join(out, "notes.go")
	if err := os.WriteFile(own, []byte("package yoututiny\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := mlagen("-spec", tinySpec, "-out", out); code != exitOK {
		t.Fatal(stderr)
	}
	if _, err := os.Stat(own); err != nil {
		t.Error(err)
	}
}

// TestRepeatable: the same bytes over repeated runs.
func TestRepeatable(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	for _, dir := range []string{a, b} {
		if code, _, stderr := mlagen("-spec", "../../specs/glm47mini.yaml", "-out", dir); code != exitOK {
			t.Fatal(stderr)
		}
	}
	files, err := filepath.Glob(filepath.Join(a, "*"))
	if err != nil || len(files) != 5 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		x, _ := os.ReadFile(f)
		y, err := os.ReadFile(filepath.Join(b, filepath.Base(f)))
		if err != nil || !bytes.Equal(x, y) {
			t.Errorf("%s differs between two runs (%v)", filepath.Base(f), err)
		}
	}
}

func TestDescribeJSON(t *testing.T) {
	code, stdout, stderr := mlagen("describe", "-json", "-spec", tinySpec)
	if code != exitOK {
		t.Fatal(stderr)
	}
	var r map[string]any
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatal(err)
	}
	list, _ := r["dispatches"].([]any)
	if n, _ := r["dispatches_per_token"].(float64); int(n) != len(list) || n == 0 {
		t.Errorf("%v dispatches per token, %d listed", n, len(list))
	}
	for _, key := range []string{"barriers_per_token", "weight_bytes_per_token", "kv_bytes_per_context_token"} {
		if n, _ := r[key].(float64); n <= 0 {
			t.Errorf("%s is %v", key, r[key])
		}
	}
}

// TestDump prints every stage of the compiler.
func TestDump(t *testing.T) {
	_, passes, _ := mlagen("dump", "-passes")
	for _, line := range append(strings.Split(strings.TrimSpace(passes), "\n"), "lower") {
		name := strings.Fields(line)[0]
		if code, stdout, stderr := mlagen("dump", "-spec", tinySpec, "-after", name); code != exitOK || !strings.Contains(stdout, "lm_head") {
			t.Errorf("dump -after %s: exit %d, %s", name, code, stderr)
		}
	}
}

// TestSpecsCompile: every shipped spec compiles, under its own name.
func TestSpecsCompile(t *testing.T) {
	paths, err := filepath.Glob("../../specs/*.yaml")
	if err != nil || len(paths) < 9 {
		t.Fatalf("%d specs, %v", len(paths), err)
	}
	for _, p := range paths {
		s, err := spec.Load(p)
		if err != nil {
			t.Error(err)
			continue
		}
		if want := strings.TrimSuffix(filepath.Base(p), ".yaml"); s.Name != want {
			t.Errorf("%s is called %s", p, s.Name)
		}
	}
	if code, _, stderr := mlagen("-all", "-check"); code != exitOK {
		t.Errorf("generated/ is out of date: exit %d: %s", code, stderr)
	}
}
