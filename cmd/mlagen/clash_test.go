package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBundleNameClash: a spec whose bundle would replace that of another one
// is refused; with -out there is nothing to replace.
func TestBundleNameClash(t *testing.T) {
	text, err := os.ReadFile(tinySpec)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "Youtu-tiny.yaml")
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := mlagen("-spec", path, "-n")
	if want := "yoututiny.yaml and Youtu-tiny.yaml would both make the bundle yoututiny"; code != exitError || !strings.Contains(stderr, want) {
		t.Errorf("exit %d; expected %q in:\n%s", code, want, stderr)
	}
	if code, _, stderr := mlagen("-spec", path, "-n", "-out", t.TempDir()); code != exitOK {
		t.Errorf("with -out: exit %d: %s", code, stderr)
	}
}

// TestNoSpecs: without specs -all removes nothing.
func TestNoSpecs(t *testing.T) {
	root := t.TempDir()
	bundle := filepath.Join(root, "generated", "x", packageMark)
	if err := os.MkdirAll(filepath.Dir(bundle), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{filepath.Join(root, "go.mod"): "module mla\n", bundle: headerMark + "x"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(root)
	if code, _, stderr := mlagen("-all"); code != exitError || !strings.Contains(stderr, "no specs in") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if _, err := os.Stat(bundle); err != nil {
		t.Error(err)
	}
}
