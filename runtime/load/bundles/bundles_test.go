package bundles_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mla/generated"
	"mla/runtime/device/metal"
	"mla/runtime/gguf"
	"mla/runtime/load/bind"
	"mla/runtime/load/bundles"
	"mla/runtime/plan"
	"mla/runtime/plan/bundlefile"
)

// model is a file that the bundles of spec run.
const (
	model = "../../../testdata/reference/glm47-tiny-Q4_0.gguf"
	spec  = "../../../specs/glm47tiny.yaml"
)

// bundle is a compiled one of that model, under another name.
func bundle(t *testing.T, name string) *plan.Bundle {
	t.Helper()
	all := generated.Bundles()
	i := slices.IndexFunc(all, func(b *plan.Bundle) bool { return b.Name == "glm47tiny" })
	b := *all[i]
	b.Name = name
	return &b
}

// write makes a bundle file with a bundle of its name; library, if not nil, is Apple's.
func write(t *testing.T, path string, library []byte) {
	t.Helper()
	name := strings.TrimSuffix(filepath.Base(path), bundlefile.Suffix)
	text, err := os.ReadFile(spec)
	if err != nil {
		t.Fatal(err)
	}
	f := &bundlefile.File{Spec: text, Bundles: []*plan.Bundle{bundle(t, name)}}
	if library != nil {
		f.Metal = map[string][]byte{name: library}
	}
	data, err := bundlefile.Encode(f)
	if err == nil {
		err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), bundlefile.Write(path, data))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// place links the model into a folder of its own, and opens it there.
func place(t *testing.T) (folder string, file *gguf.File) {
	t.Helper()
	folder = t.TempDir()
	whole, err := filepath.Abs(model)
	if err == nil {
		err = os.Symlink(whole, filepath.Join(folder, "my.gguf"))
	}
	if err != nil {
		t.Fatal(err)
	}
	if file, err = gguf.Open(filepath.Join(folder, "my.gguf")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	})
	return folder, file
}

// TestChoose: what is asked for, else beside the model, else in the user's folder, else in
// the program.
func TestChoose(t *testing.T) {
	for _, tt := range []struct {
		files string // with a bundle each
		asked string
		want  string // the bundle's name, or in the error
	}{
		{"my.mla user/a.mla other.mla", "other.mla", "other"},
		{"my.mla user/a.mla", "", "my"},
		{"user/a.mla user/my.mla", "", "my"},
		{"user/a.mla", "", "a"},
		{"", "", "program"},
		{"my.mla", "program", "program"},
		{"user/a.mla my.mla", "a", "a"},
		{"my.mla", "gone.mla", "no such file"},
		{"my.mla", "gone", "gone"},
	} {
		folder, file := place(t)
		for _, name := range strings.Fields(tt.files) {
			write(t, filepath.Join(folder, name), nil)
		}
		f := &bundles.Finder{Folder: filepath.Join(folder, "user"), Program: []*plan.Bundle{bundle(t, "program")},
			Note: func(format string, _ ...any) { t.Errorf("%+v: a note: %s", tt, format) }}
		asked := tt.asked
		if bundles.IsFile(asked) {
			asked = filepath.Join(folder, asked)
		}
		b, err := f.Choose(file.Path, bind.Resolve(file), bind.Wish{Bundle: asked})
		if err != nil {
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%+v: %v", tt, err)
			}
			continue
		}
		if b.Name != tt.want || (f.FileOf(b) == nil) != (tt.want == "program") {
			t.Errorf("%+v: bundle %s of %v", tt, b.Name, f.FileOf(b))
		}
		all, err := f.For(file.Path, asked)
		if err != nil || !slices.Contains(all, b) {
			t.Errorf("%+v: %d bundles to choose from, %v", tt, len(all), err)
		}
	}
}

// TestPassedOver: a file that cannot be read is told of once, and does not stop the search.
func TestPassedOver(t *testing.T) {
	folder, file := place(t)
	if err := os.WriteFile(filepath.Join(folder, "my.mla"), []byte("notes"), 0o644); err != nil {
		t.Fatal(err)
	}
	notes := 0
	f := &bundles.Finder{Program: []*plan.Bundle{bundle(t, "program")}, Note: func(string, ...any) { notes++ }}
	for range 2 {
		if b, err := f.Choose(file.Path, bind.Resolve(file), bind.Wish{}); err != nil || b.Name != "program" {
			t.Fatalf("%v, %v", b, err)
		}
	}
	if notes != 1 {
		t.Errorf("%d notes", notes)
	}
	f = &bundles.Finder{Program: f.Program} // without anyone to tell
	if _, err := f.Choose(file.Path, bind.Resolve(file), bind.Wish{}); err != nil {
		t.Error(err)
	}
}

// TestCompiled: PTX and libraries are those of the bundle's own file.
func TestCompiled(t *testing.T) {
	folder, file := place(t)
	library := []byte("MTLB of a test")
	write(t, filepath.Join(folder, "my.mla"), library)
	f := &bundles.Finder{Program: []*plan.Bundle{bundle(t, "program")}}
	b, err := f.Choose(file.Path, bind.Resolve(file), bind.Wish{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.PTX(b)
	for _, err := range []error{err, f.HasPTX(b)} {
		if err == nil || !strings.Contains(err.Error(), "my.mla: it has no kernels for NVIDIA GPUs; make it again with mlagen … -ptx") {
			t.Errorf("%v", err)
		}
	}
	if _, err := f.PTX(f.Program[0]); err == nil || !strings.Contains(err.Error(), "lie beside this program") {
		t.Errorf("of the program: %v", err)
	}
	cache := filepath.Join(folder, "cache")
	for range 2 { // made, then found
		at, err := f.MetalLibrary(b, cache)
		if err != nil || !strings.HasPrefix(at, cache) {
			t.Fatalf("%q, %v", at, err)
		}
		if got, err := os.ReadFile(filepath.Join(at, metal.LibraryName(b))); err != nil || string(got) != string(library) {
			t.Errorf("%q, %v", got, err)
		}
	}
	for _, b := range []*plan.Bundle{f.Program[0], b} {
		folder := ""
		if b.Name == "program" {
			folder = cache
		}
		if at, err := f.MetalLibrary(b, folder); at != "" || err != nil {
			t.Errorf("%s: a library in %q, %v", b.Name, at, err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "full"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := f.MetalLibrary(b, filepath.Join(folder, "full")); err == nil {
		t.Error("a library in a file")
	}
}
