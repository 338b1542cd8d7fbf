package spec

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// tuningFiles are the tuning files of the repository.
func tuningFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(specDir, TuningFolder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob(filepath.Join(specDir, "more", TuningFolder, "*"))
	if err != nil || len(files) < 7 || len(more) < 5 {
		t.Fatalf("%d and %d tuning files, %v", len(files), len(more), err)
	}
	return append(files, more...)
}

// TestTuningFiles: each belongs to a spec, keeps to the schema, and begins with its name.
func TestTuningFiles(t *testing.T) {
	c := jsonschema.NewCompiler()
	for _, name := range []string{"mla.schema.json", "mla.tuning.schema.json"} {
		f, err := os.Open(filepath.Join(specDir, name))
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(f)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		if err := c.AddResource(name, doc); err != nil {
			t.Fatal(err)
		}
	}
	schema, err := c.Compile("mla.tuning.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	owned := map[string]bool{}
	for _, spec := range specFiles(t) {
		list, err := TuningFiles(spec)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range list {
			owned[f] = true
		}
		data, err := os.ReadFile(spec)
		if err != nil || strings.Contains(string(data), "\ntuning:") {
			t.Errorf("%s has its tuning itself (%v)", spec, err)
		}
	}
	for _, path := range tuningFiles(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !owned[path] {
			t.Errorf("%s belongs to no spec", path)
		}
		if err := schema.Validate(yamlValue(t, string(data))); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		relative, err := filepath.Rel(filepath.Dir(path), filepath.Join(specDir, "mla.tuning.schema.json"))
		if err != nil {
			t.Fatal(err)
		}
		if head := "# yaml-language-server: $schema=" + filepath.ToSlash(relative) + "\n"; !strings.HasPrefix(string(data), head) {
			t.Errorf("%s does not begin with %q", path, head)
		}
	}
	if schema.Validate(yamlValue(t, "kernels: {down: {gain: much}}")) == nil {
		t.Error("the schema accepts a gain that is no number")
	}
}

// TestWhole: every spec in one text is the same spec, and its hash is that of the text.
func TestWhole(t *testing.T) {
	joined := 0
	for _, path := range specFiles(t) {
		s, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := Parse(path, s.Text)
		if err != nil {
			t.Fatalf("%v\n%s", err, s.Text)
		}
		if whole.Hash != s.Hash || !reflect.DeepEqual(whole.Text, s.Text) {
			t.Errorf("%s: another hash", path)
		}
		if !sameBut(whole, s, whole.tunings) {
			x := *s
			x.model = whole.model // the model's file is the part of the text
			if !sameBut(whole, &x, whole.tunings) {
				t.Errorf("%s: another spec in one text:\n%s", path, s.Text)
			}
		}
		if len(s.tuningFiles) > 0 {
			joined++
		}
	}
	if joined < 8 {
		t.Errorf("%d specs with tuning files", joined)
	}
}

// TestJoinErrors: mistakes have the file and the line that they stand in.
func TestJoinErrors(t *testing.T) {
	text := body(t)
	for _, tt := range []struct{ name, spec, path, tuning, says string }{
		{"a value", text, "tuning/x.nvidia.yaml", "kernels:\n  down: {simdgroups: 99}\n", "tuning/x.nvidia.yaml:2:22: tuning.devices.nvidia.kernels.down.simdgroups is 99"},
		{"a key", text, "tuning/x.yaml", "# a\nkernel: {}\n", "tuning/x.yaml:2:1: unknown key in tuning \"kernel\""},
		{"a rule", strings.Replace(text, "num_attention_heads: 5", "num_attention_heads: 64", 1), "tuning/x.yaml", "attention:\n  simdgroups: 1\n", "tuning/x.yaml:2:15: attention keeps"},
		{"a rule for a class", text, "tuning/x.apple.yaml", "kernels:\n  down: {simdgroups: 4, split_k: 3}\n", "tuning/x.apple.yaml:2:34: tuning.devices.apple.kernels.down.split_k is 3"},
		{"a class", text, "tuning/x.nvida.yaml", "{}\n", "tuning/x.nvida.yaml:1:1: unknown class of devices in the file's name: \"nvida\" (did you mean \"nvidia\"?)"},
		{"devices", text, "tuning/x.yaml", "devices: {}\n", "tuning/x.yaml:1:1: a tuning file has no key \"devices\""},
		{"a list", text, "tuning/x.yaml", "[1]\n", "tuning/x.yaml:1:1: a tuning is a list; expected a mapping"},
		{"no YAML", text, "tuning/x.yaml", "a: [\n", "tuning/x.yaml:1:1: not valid YAML"},
		{"nothing", text, "tuning/x.yaml", "", "tuning/x.yaml:1:1: the file is empty"},
		{"a date", text, "tuning/x.yaml", "date: yesterday\n", "tuning/x.yaml:1:7: tuning.date is the string \"yesterday\"; expected a day"},
		{"a gain", text, "tuning/x.yaml", "kernels: {down: {gain: 101}}\n", "tuning/x.yaml:1:24: tuning.kernels.down.gain is 101"},
		{"both", text + "tuning:\n  devices: {nvidia: {kernels: {}}}\n", "tuning/x.nvidia.yaml", "kernels: {}\n", "tuning/x.nvidia.yaml:1:1: x.yaml has the key \"kernels\" of this tuning, too"},
		{"the spec", strings.Replace(text, "vocab_size: 512", "vocab_size: few", 1), "tuning/x.yaml", "kernels: {}\n", "x.yaml:"},
		{"no mapping", text + "tuning: 3\n", "tuning/x.nvidia.yaml", "kernels: {}\n", "x.yaml:"},
	} {
		_, err := Parse("x.yaml", []byte(tt.spec), Text{tt.path, []byte(tt.tuning)})
		if err == nil || !strings.HasPrefix(err.Error(), tt.says) {
			t.Errorf("%s: %v; want %q", tt.name, err, tt.says)
		}
	}
}

// TestLoadTuning checks that the tuning files beside a spec are found and others may be named. An unknown
// class in a file's name is an error.
func TestLoadTuning(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	path := write("x.yaml", body(t))
	write("tuning/xy.yaml", "no tuning")
	write("tuning/x.txt", "no tuning")
	write("tuning/x.nvidia.yaml", "kernels: {down: {simdgroups: 8}}\n")
	write("tuning/x.yaml", "kernels: {down: {simdgroups: 4}}\n")
	other := write("other/x.apple.yaml", "kernels: {down: {simdgroups: 2}}\n")
	for _, tt := range []struct {
		tunings []string
		classes map[string]int
	}{{nil, map[string]int{"": 4, "nvidia": 8, "apple": 4}}, {[]string{other}, map[string]int{"": 0, "apple": 2}}} {
		s, err := Load(path, tt.tunings...)
		if err != nil {
			t.Fatal(err)
		}
		for class, want := range tt.classes {
			tuning := s.WithClass(class).Tuning
			if got := tuning.ShapeOf("down", 1).Simdgroups; got != want {
				t.Errorf("%v, class %q: %d simdgroups; want %d", tt.tunings, class, got, want)
			}
		}
	}
	write("tuning/x.nvida.yaml", "{}\n")
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "x.nvida.yaml:1:1: unknown class") {
		t.Error(err)
	}
}

// TestTuningNames: which spec a tuning file belongs to, and for which class it is.
func TestTuningNames(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, TuningFolder), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"glm4.yaml", "glm4.7.yml", "tuning/glm4.yaml", "tuning/glm4.7.yaml", "tuning/glm4.7.nvidia.yaml", "tuning/glm4.apple.yml", "tuning/glm47.yaml", "tuning/glm4"} {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for spec, want := range map[string][]string{"glm4.yaml": {"glm4.yaml", "", "glm4.apple.yml", "apple"}, "glm4.7.yml": {"glm4.7.yaml", "", "glm4.7.nvidia.yaml", "nvidia"}} {
		files, err := TuningFiles(filepath.Join(dir, spec))
		var got []string
		for _, f := range files {
			got = append(got, filepath.Base(f), TuningClass(spec, f))
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, %v; want %q", spec, got, err, want)
		}
	}
	if got := TuningClass("x.yaml", "mine/y.nvidia.yaml"); got != "nvidia" {
		t.Errorf("a file of another name is for %q", got)
	}
}
