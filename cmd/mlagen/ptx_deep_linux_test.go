//go:build deep

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mla/gen/golang"
	"mla/runtime/plan/bundlefile"
	"mla/runtime/plan/ptxfile"
)

// TestPTX checks that mlagen ptx compiles a generated bundle once, and again with -f, and that the file is
// removed with its spec.
func TestPTX(t *testing.T) {
	root, text := project(t)
	path := filepath.Join(root, "generated", "tiny", ptxfile.FileName("tiny"))
	if code, _, stderr := mlagen("ptx", "-all"); code != exitError || !strings.Contains(stderr, "go generate") {
		t.Errorf("nothing generated yet: exit %d, %s", code, stderr)
	}
	if code, _, stderr := mlagen("-all"); code != exitOK {
		t.Fatal(stderr)
	}
	for _, tt := range []struct {
		args []string
		made bool
	}{
		{[]string{"ptx", "-all"}, true},
		{[]string{"ptx", "-all"}, false},
		{[]string{"ptx", "-spec", "specs/tiny.yaml", "-f"}, true},
	} {
		if code, stdout, stderr := mlagen(tt.args...); code != exitOK || strings.Contains(stdout, ptxfile.FileName("tiny")) != tt.made {
			t.Errorf("%v: exit %d, %s%s", tt.args, code, stdout, stderr)
		}
	}
	if code, _, stderr := mlagen("-all", "-check"); code != exitOK {
		t.Errorf("exit %d: %s", code, stderr)
	}
	// NVIDIA GPUs with a bundle of their own do not run the general one.
	writeFile(t, "specs/tiny.yaml", text+nvidia)
	if code, _, stderr := mlagen("ptx", "-all"); code != exitError || !strings.Contains(stderr, filepath.Join("tiny", packageMark)+" is out of date or missing; run go generate") {
		t.Errorf("not generated yet: exit %d, %s", code, stderr)
	}
	if code, _, stderr := mlagen("-all"); code != exitOK {
		t.Error(stderr)
	}
	if sources, err := filepath.Glob("generated/tiny/*" + golang.SourceSuffix); err != nil || !slices.Equal(sources, []string{"generated/tiny/tinyapple.metal"}) {
		t.Errorf("sources %q, %v; what only NVIDIA GPUs run is printed when PTX is made", sources, err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Errorf("%s is still there", path)
	}
	if code, stdout, stderr := mlagen("ptx", "-all"); code != exitOK || strings.Count(stdout, ptxfile.Extension) != 1 || !strings.Contains(stdout, ptxfile.FileName("tinynvidia")) {
		t.Errorf("exit %d, %s%s", code, stdout, stderr)
	}
	// That of a spec that only tests run lies apart.
	writeFile(t, "specs/reference.txt", "tiny\n")
	if code, stdout, stderr := mlagen("-all"); code != exitOK || !strings.Contains(stdout, "1 removed") {
		t.Errorf("exit %d, %s%s", code, stdout, stderr)
	}
	apart := filepath.Join(root, "generated", "tiny", "reference", ptxfile.FileName("tinynvidia"))
	for _, made := range []bool{true, false} {
		if code, stdout, stderr := mlagen("ptx", "-all"); code != exitOK || strings.Contains(stdout, apart) != made {
			t.Errorf("exit %d, %s%s", code, stdout, stderr)
		}
	}
	if code, _, stderr := mlagen("-all", "-check"); code != exitOK {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if err := os.WriteFile(apart, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := mlagen("-all", "-check"); code != exitDrift || !strings.Contains(stderr, apart+" is out of date") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if code, _, stderr := mlagen("ptx", "-all"); code != exitOK {
		t.Error(stderr)
	}
	if err := os.Rename("specs/tiny.yaml", "specs/other.yaml"); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := mlagen("-all"); code != exitOK {
		t.Error(stderr)
	}
	if _, err := os.Stat(filepath.Dir(path)); err == nil {
		t.Error("the bundle's spec is gone, its folder is not")
	}
}

// TestBundlePTX: -ptx puts PTX of the very kernels into a bundle file, and verify makes it
// again to compare.
func TestBundlePTX(t *testing.T) {
	linked(t, "plm-mini-Q4_K_M.gguf")
	if code, stdout, stderr := mlagen("-gguf", "my.gguf", "-ptx"); code != exitOK || !strings.Contains(stdout, "kernels, PTX\n") {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	file, err := bundlefile.Open("my.mla")
	if err != nil {
		t.Fatal(err)
	}
	if err := ptxfile.Check(file.Of("my"), file.PTX["my"]); err != nil {
		t.Error(err)
	}
	if code, _, stderr := mlagen("verify", "my.mla"); code != exitOK {
		t.Errorf("exit %d: %s", code, stderr)
	}
	file.PTX["my"] = append(file.PTX["my"], 0)
	data, err := bundlefile.Encode(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := bundlefile.Write("my.mla", data); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := mlagen("verify", "my.mla"); code != exitError || !strings.Contains(stderr, "not what this mlagen makes") {
		t.Errorf("other PTX: exit %d: %s", code, stderr)
	}
}
