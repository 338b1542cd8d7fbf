package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mla/tools/tests/deep"
)

// project makes a project whose only spec, specs/tiny.yaml, is the smallest that
// ships, and makes its root the working directory. It returns the spec's text.
func project(t *testing.T) (root, spec string) {
	t.Helper()
	text, err := os.ReadFile(tinySpec)
	if err != nil {
		t.Fatal(err)
	}
	root = t.TempDir()
	t.Chdir(root)
	writeFile(t, "go.mod", "module mla\n")
	writeFile(t, "specs/tiny.yaml", string(text))
	return root, string(text)
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// bundles lists the bundles below generated/ and the packages that the registry names,
// which have to be the folders.
func bundles(t *testing.T) (names, registered string) {
	t.Helper()
	models, err := filepath.Glob("generated/*/zmodel.go")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, path := range models {
		list = append(list, bundlesOf(path)...)
	}
	slices.Sort(list)
	for _, name := range list {
		names += " " + name
	}
	folders := ""
	marks, err := filepath.Glob("generated/*/" + packageMark)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range marks {
		folders += " " + filepath.Base(filepath.Dir(m))
	}
	text, err := os.ReadFile("generated/zregistry.go")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutSuffix(strings.TrimSpace(line), ".Bundles,"); ok {
			registered += " " + name
		}
	}
	if registered != folders {
		t.Errorf("registered%s, folders%s", registered, folders)
	}
	return names, registered
}

// nvidia is a tuning for a class of devices.
const nvidia = "\ntuning: {devices: {nvidia: {kernels: {lm_head: {simdgroups: 2}}}}}"

// TestVariants edits the activations and classes of a spec. Folders, registry and -check must follow, for the
// spec alone and for all specs, and files that the spec no longer asks for must be removed.
func TestVariants(t *testing.T) {
	_, spec := project(t)
	calls := [][]string{{"-spec", "specs/tiny.yaml"}}
	if deep.On {
		calls = append(calls, []string{"-all"})
	}
	for _, all := range calls {
		for _, tt := range []struct{ line, want string }{
			{"\nactivations: [f32, f16]", " tiny tinyf16"},
			{"\nactivations: f16", " tinyf16"},
			{"\nactivations: [f16, f32]", " tiny tinyf16"},
			{"", " tiny"},
			{"\nactivations: [f32, f16]" + nvidia, " tinyapple tinyf16apple tinyf16nvidia tinynvidia"},
			{nvidia, " tinyapple tinynvidia"},
			{"\ntuning: {devices: {apple: {}}}", " tiny tinyapple"},
		} {
			writeFile(t, "specs/tiny.yaml", spec+tt.line)
			if code, _, stderr := mlagen(append(all, "-check")...); code != exitDrift || !strings.Contains(stderr, "tiny") {
				t.Errorf("%s, %q: -check before: exit %d: %s", all, tt.line, code, stderr)
			}
			if code, _, stderr := mlagen(all...); code != exitOK {
				t.Fatalf("%s, %q: %s", all, tt.line, stderr)
			}
			if names, registered := bundles(t); names != tt.want || registered != " tiny" {
				t.Errorf("%s, %q: bundles%s, registered%s; want%s", all, tt.line, names, registered, tt.want)
			}
			for _, check := range [][]string{append(all, "-check"), {"-all", "-check"}} {
				if code, _, stderr := mlagen(check...); code != exitOK {
					t.Errorf("%s, %q: %s: exit %d: %s", all, tt.line, check, code, stderr)
				}
			}
		}
	}
}

// TestVariantOfAnother: a bundle that another spec makes is no variant to remove, and
// two specs that make one bundle are refused, whichever is compiled.
func TestVariantOfAnother(t *testing.T) {
	_, spec := project(t)
	writeFile(t, "specs/tiny-f16.yaml", spec)
	if code, _, stderr := mlagen("-all"); code != exitOK {
		t.Fatal(stderr)
	}
	if code, _, stderr := mlagen("-spec", "specs/tiny.yaml"); code != exitOK {
		t.Fatal(stderr)
	}
	if names, registered := bundles(t); names != " tiny tinyf16" || registered != names {
		t.Errorf("bundles%s, registered%s", names, registered)
	}
	writeFile(t, "specs/tiny.yaml", spec+"\nactivations: [f32, f16]")
	for _, args := range [][]string{{"-all"}, {"-spec", "specs/tiny.yaml"}, {"-spec", "specs/tiny-f16.yaml"}} {
		if code, _, stderr := mlagen(args...); code != exitError || !strings.Contains(stderr, "would both make the bundle tinyf16; rename one") {
			t.Errorf("%s: exit %d: %s", args, code, stderr)
		}
	}
}

// TestActivations: -act and -class pick the variant of the commands that take one.
func TestActivations(t *testing.T) {
	root, spec := project(t)
	writeFile(t, "specs/tiny.yaml", spec+"\nactivations: [f16, f32]"+nvidia)
	const path = "specs/tiny.yaml"
	out := filepath.Join(root, "out")
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"describe", "-spec", path}, exitOK, "tinyf16, quant profile f32, f16 activations"},
		{[]string{"describe", "-spec", path, "-act", "f32"}, exitOK, "tiny, quant profile f32, f32 activations"},
		{[]string{"dump", "-spec", path, "-act", "f16"}, exitOK, "lm_head"},
		{[]string{"describe", "-spec", path, "-class", "nvidia"}, exitOK, "tinyf16nvidia, quant profile f32, f16 activations"},
		{[]string{"dump", "-spec", path, "-act", "f32", "-class", "apple"}, exitOK, "lm_head"},
		{[]string{"describe", "-spec", path, "-class", "amd"}, exitUsage, `-class is "amd"; expected apple or nvidia`},
		{[]string{"-spec", path, "-class", "nvidia"}, exitUsage, "-act and -class go with -out"},
		{[]string{"-spec", path, "-out", out, "-class", "nvidia", "-check"}, exitDrift, "-out " + out + " -class nvidia"},
		{[]string{"-spec", path, "-out", out, "-n"}, exitOK, filepath.Join(out, "zmodel.go")},
		{[]string{"describe", "-spec", path, "-act", "f64"}, exitUsage, `-act is "f64"; expected f32 or f16`},
		{[]string{"-spec", path, "-out", out, "-act", ""}, exitOK, ""},
		{[]string{"-spec", path, "-out", out, "-act", "bf16"}, exitUsage, `-act is "bf16"`},
		{[]string{"-spec", path, "-act", "f32"}, exitUsage, "-act and -class go with -out"},
		{[]string{"-spec", path, "-out", out, "-act", "f32", "-check"}, exitDrift, "-out " + out + " -act f32"},
		{[]string{"init", "-gguf", "x", "-o", "y", "-act", "f32,f32"}, exitUsage, `-act is "f32,f32"; expected f32, f16, or both`},
		{[]string{"init", "-gguf", "x", "-o", "y", "-act", "f32, f16"}, exitUsage, "-act is"},
	} {
		code, stdout, stderr := mlagen(tt.args...)
		if code != tt.code || !strings.Contains(stdout+stderr, tt.says) {
			t.Errorf("mlagen %s: exit %d, want %d and %q:\n%s%s", tt.args, code, tt.code, tt.says, stdout, stderr)
		}
	}
	text, err := os.ReadFile(filepath.Join(out, packageMark))
	if err != nil || !strings.Contains(string(text), "package tinyf16\n") {
		t.Errorf("-out takes the first variant: %v\n%.300s", err, text)
	}
}

// TestTuningFiles: a tuning file beside a spec gives its class bundles of its own, another one may be
// named instead, and a bundle file made with it is whole.
func TestTuningFiles(t *testing.T) {
	project(t)
	writeFile(t, "specs/tuning/tiny.nvidia.yaml", "kernels: {lm_head: {simdgroups: 2}}\n")
	writeFile(t, "other/tiny.apple.yaml", "kernels: {lm_head: {simdgroups: 2}}\n")
	if code, _, stderr := mlagen("-all"); code != exitOK {
		t.Fatal(stderr)
	}
	if names, _ := bundles(t); names != " tinyapple tinynvidia" {
		t.Errorf("bundles%s", names)
	}
	writeFile(t, "specs/tuning/tiny.nvidia.yaml", "kernels: {lm_head: {simdgroups: 4}}\n")
	if code, _, stderr := mlagen("-all", "-check"); code != exitDrift {
		t.Errorf("with another tuning: exit %d: %s", code, stderr)
	}
	if code, _, stderr := mlagen("-spec", "specs/tiny.yaml", "-tuning", "other/tiny.apple.yaml", "-o", "tiny.mla"); code != exitOK {
		t.Fatal(stderr)
	}
	if code, stdout, stderr := mlagen("verify", "tiny.mla"); code != exitOK || !strings.Contains(stdout, "2 bundles of tiny.yaml") {
		t.Errorf("verify: exit %d: %s%s", code, stdout, stderr)
	}
	writeFile(t, "other/tiny.apple.yaml", "kernels: {lm_hed: {simdgroups: 2}}\n")
	if code, _, stderr := mlagen("-spec", "specs/tiny.yaml", "-tuning", "other/tiny.apple.yaml", "-out", "x", "-class", "apple"); code != exitError || !strings.Contains(stderr, "other/tiny.apple.yaml:1:11: unknown kernel in tuning \"lm_hed\"") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if code, _, stderr := mlagen("-all", "-tuning", "other/tiny.apple.yaml"); code != exitUsage || !strings.Contains(stderr, "-tuning goes with -spec") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
