package bundles

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mla/runtime/plan"
	"mla/runtime/plan/ptxfile"
)

// packed returns a PTX file of a bundle's source. It is longer than the part that HasPTX reads.
func packed(t *testing.T, b *plan.Bundle) []byte {
	t.Helper()
	var file bytes.Buffer
	w := gzip.NewWriter(&file)
	if _, err := w.Write([]byte("// kernels.metal sha256:" + b.SourceSum() + "\n.visible .entry f()\n" + strings.Repeat("add;\n", 1000))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// TestBesidePlaces checks that folders are the program's folder and the one of `make install`.
func TestBesidePlaces(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if exe, err = filepath.EvalSymlinks(exe); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(exe)
	if got := folders(); len(got) != 2 || got[0] != dir || got[1] != filepath.Join(filepath.Dir(dir), "share", "mla") {
		t.Errorf("%q", got)
	}
}

// TestBeside checks that PTX returns a PTX file of the bundle's exact source, and an error for any other file.
func TestBeside(t *testing.T) {
	places := folders
	defer func() { folders = places }()
	none, dir := t.TempDir(), t.TempDir()
	folders = func() []string { return []string{none, dir} }

	b := &plan.Bundle{Name: "small", Spec: "small.yaml", Source: "kernel void f();\n"}
	changed := *b
	changed.Source += "\n"
	apple := &plan.Bundle{Name: "apart", Spec: "apart.yaml", Class: plan.ClassApple}
	nvidia := &plan.Bundle{Name: "apartnvidia", Spec: "apart.yaml", Class: plan.ClassNVIDIA}
	f := &Finder{Program: []*plan.Bundle{b, apple, nvidia}}

	const missing = ": no kernels of it for NVIDIA GPUs lie beside this program; run make ptx && make build"
	good := packed(t, b)
	for name, tt := range map[string]struct {
		b    *plan.Bundle
		file []byte // the PTX file; nil: none
		text string // part of PTX's error; "": no error
		has  string // part of HasPTX's error; "": no error. HasPTX reads the first lines only.
	}{
		"there":             {b, good, "", ""},
		"cut":               {b, good[:len(good)-4], "its PTX: unexpected EOF; run make ptx && make build", ""},
		"of another source": {&changed, good, "bundle small: its PTX is not from this Metal source; run make ptx && make build", "is not from this Metal source; run make ptx"},
		"large":             {b, make([]byte, maxFile+1), "has more than 64 MiB", "has more than 64 MiB"},
		"missing":           {b, nil, "bundle small" + missing, "bundle small" + missing},
		"missing, nvidia":   {nvidia, nil, "bundle apartnvidia" + missing, "bundle apartnvidia" + missing},
		"missing, apple":    {apple, nil, "bundle apart is not compiled for NVIDIA GPUs, which run apartnvidia: leave out -bundle", "which run apartnvidia"},
	} {
		path := filepath.Join(dir, ptxfile.FileName(tt.b.Name))
		if tt.file != nil {
			if err := os.WriteFile(path, tt.file, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		text, err := f.PTX(tt.b)
		if tt.text == "" && (err != nil || !strings.Contains(text, ".entry")) || tt.text != "" && (err == nil || !strings.Contains(err.Error(), tt.text)) {
			t.Errorf("%s: PTX is %.80q, %v; expected %q", name, text, err, tt.text)
		}
		err = f.HasPTX(tt.b)
		if tt.has == "" && err != nil || tt.has != "" && (err == nil || !strings.Contains(err.Error(), tt.has)) {
			t.Errorf("%s: HasPTX says %v; expected %q", name, err, tt.has)
		}
		if tt.file != nil {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	}
}
