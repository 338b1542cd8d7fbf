package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mla/runtime/plan"
	"mla/runtime/plan/bundlefile"
)

// unseen are models that no spec of the project is for.
const unseen = "../../testdata/models/"

// linked makes a folder with a model in it, the working directory.
func linked(t *testing.T, model string) {
	t.Helper()
	whole, err := filepath.Abs(unseen + model)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	t.Setenv("XDG_CACHE_HOME", filepath.Join(t.TempDir(), "cache"))
	if err := os.Symlink(whole, "my.gguf"); err != nil {
		t.Fatal(err)
	}
}

// TestBundle writes bundle files of a model and of a spec, where they are asked for.
func TestBundle(t *testing.T) {
	spec, err := filepath.Abs("../../specs/glm47mini.yaml")
	if err != nil {
		t.Fatal(err)
	}
	linked(t, "plm-mini-Q4_K_M.gguf")
	folder, err := bundlefile.Folder()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args, path, names string
	}{
		{"-gguf my.gguf", "my.mla", "my myapple"},
		{"-gguf my.gguf -act f32,f16 -o both.mla", "both.mla", "my myf16 myapple myf16apple"},
		{"-gguf my.gguf -act f16", "my.mla", "myf16 myf16apple"}, // in place of the first
		{"-gguf my.gguf -install", filepath.Join(folder, "my.mla"), "my myapple"},
		{"-spec " + spec + " -o spec.mla", "spec.mla", "glm47mini glm47minif16 glm47miniapple glm47minif16apple"},
	} {
		code, stdout, stderr := mlagen(strings.Fields(tt.args)...)
		if code != exitOK || !strings.Contains(stdout, "wrote "+tt.path+" (") {
			t.Errorf("%s: exit %d\n%s%s", tt.args, code, stdout, stderr)
			continue
		}
		file, err := bundlefile.Open(tt.path)
		if err != nil {
			t.Error(err)
			continue
		}
		var names []string
		for _, b := range file.Bundles {
			names = append(names, b.Name)
		}
		if got := strings.Join(names, " "); got != tt.names {
			t.Errorf("%s: bundles %s; want %s", tt.args, got, tt.names)
		}
		if code, stdout, stderr := mlagen("verify", tt.path); code != exitOK || !strings.Contains(stdout, ", as mlagen makes them") {
			t.Errorf("verify %s: exit %d: %s", tt.path, code, stderr)
		}
	}
}

// TestBundleErrors checks the messages for flags that exclude each other and for files that cannot be
// written.
func TestBundleErrors(t *testing.T) {
	spec, err := filepath.Abs(tinySpec)
	if err != nil {
		t.Fatal(err)
	}
	linked(t, "plm-mini-Q4_K_M.gguf")
	writeFile(t, "notes.mla", "my notes")
	writeFile(t, "llama.gguf", "GGUF")
	for _, tt := range []struct {
		args string
		code int
		says string
	}{
		{"-gguf my.gguf -spec " + spec, exitUsage, "give either -gguf F or -spec F"},
		{"-o x.mla", exitUsage, "give either -gguf F or -spec F"},
		{"-gguf my.gguf -out x", exitUsage, "a bundle file goes with"},
		{"-gguf my.gguf -check", exitUsage, "a bundle file goes with"},
		{"-gguf my.gguf -o x.zip", exitUsage, `-o is "x.zip"; expected a name that ends in .mla`},
		{"-gguf my.gguf -o x.mla -install", exitUsage, "leave out -o"},
		{"-gguf my.gguf -act f64", exitUsage, `-act is "f64"`},
		{"-spec " + spec + " -o x.mla -act f16", exitUsage, "a spec says which activations"},
		{"-gguf my.gguf -o notes.mla", exitError, "notes.mla is there and is no bundle file; give another name"},
		{"-gguf my.gguf -o gone/x.mla", exitError, "no such file"},
		{"-gguf gone.gguf", exitError, "gone.gguf"},
		{"-gguf llama.gguf", exitError, "llama.gguf"},
		{"verify", exitUsage, "mlagen verify F.mla"},
		{"verify my.gguf", exitError, "no bundle file"},
		{"verify gone.mla", exitError, "no such file"},
	} {
		code, _, stderr := mlagen(strings.Fields(tt.args)...)
		if code != tt.code || !strings.Contains(stderr, tt.says) {
			t.Errorf("%s: exit %d, want %d and %q:\n%s", tt.args, code, tt.code, tt.says, stderr)
		}
	}
	if text, err := os.ReadFile("notes.mla"); err != nil || string(text) != "my notes" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestVerify checks that verify refuses a file if mlagen compiles its spec to another plan or to other kernels.
func TestVerify(t *testing.T) {
	linked(t, "plm-mini-Q4_K_M.gguf")
	for name, change := range map[string]func(f *bundlefile.File){
		"kernels":   func(f *bundlefile.File) { f.Bundles[0].Source += "// more\n" },
		"the plan":  func(f *bundlefile.File) { f.Bundles[0].RopeMScale *= 2 },
		"a bundle":  func(f *bundlefile.File) { f.Bundles = f.Bundles[:1] },
		"a library": func(f *bundlefile.File) { f.Metal["my"] = []byte("MTLB") },
		"a name":    func(f *bundlefile.File) { f.Bundles[0].Name = "other" },
	} {
		if code, _, stderr := mlagen("-gguf", "my.gguf", "-act", "f32,f16"); code != exitOK {
			t.Fatal(stderr)
		}
		file, err := bundlefile.Open("my.mla")
		if err != nil {
			t.Fatal(err)
		}
		change(file)
		data, err := bundlefile.Encode(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := bundlefile.Write("my.mla", data); err != nil {
			t.Fatal(err)
		}
		if code, _, stderr := mlagen("verify", "my.mla"); code != exitError || !strings.Contains(stderr, "my.mla: ") || !strings.Contains(stderr, "run it on a GPU only if you trust who made it") {
			t.Errorf("%s: exit %d: %s", name, code, stderr)
		}
	}
}

// TestBundleMetal checks that -metallib adds the output of Apple's compiler to the file. A script replaces
// the compiler.
func TestBundleMetal(t *testing.T) {
	linked(t, "plm-mini-Q4_K_M.gguf")
	path := os.Getenv("PATH")
	t.Setenv("PATH", "")
	if code, _, stderr := mlagen("-gguf", "my.gguf", "-metallib"); code != exitError || !strings.Contains(stderr, "it needs a Mac with Xcode 15 or later") {
		t.Errorf("without a compiler: exit %d: %s", code, stderr)
	}
	tools := t.TempDir()
	script := `#!/bin/sh
set -eu
case "$3" in
metal) test "$*" = "-sdk macosx metal -std=metal3.1 -mmacosx-version-min=14.0 -fno-fast-math -c $8 -o ${10}"; { echo air; cat "$8"; } >"${10}" ;;
metallib) { echo library; cat "$4"; } >"$6" ;;
esac
`
	if err := os.WriteFile(filepath.Join(tools, "xcrun"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", tools+":"+path)
	if code, stdout, stderr := mlagen("-gguf", "my.gguf", "-metallib", "-act", "f32,f16"); code != exitOK || strings.Count(stdout, ", a Metal library") != 2 {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	file, err := bundlefile.Open("my.mla")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range file.Bundles {
		if b.Class != plan.ClassApple {
			if len(file.Metal[b.Name]) > 0 {
				t.Errorf("bundle %s has a library", b.Name)
			}
			continue
		}
		if want := "library\nair\n" + b.Metal(); !bytes.Equal(file.Metal[b.Name], []byte(want)) {
			t.Errorf("bundle %s has a library of %d bytes; want %d", b.Name, len(file.Metal[b.Name]), len(want))
		}
	}
}
