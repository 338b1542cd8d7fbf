//go:build deep

package mla_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mla"
)

// unseen is a model that no bundle of the module runs.
const unseen = "testdata/models/plm-mini-Q4_K_M.gguf"

// inFolder runs a command in a folder, and returns what it printed.
func inFolder(t *testing.T, folder, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = folder
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v", name, args, err)
	}
	return string(out)
}

// program is another module's: it runs a model with a bundle that mlagen wrote there.
const program = `package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"example.com/embedder/plm"
	"mla"
)

func main() {
	model, err := mla.Open(os.Args[1], mla.Options{Device: "cpu", Bundles: plm.Bundles})
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	results, err := model.Batch(context.Background(), []string{"one two"}, mla.Generation{Max: 8})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(model.Bundle(), results[0].Tokens)
}
`

// TestBundles: a model that the module has no bundle of runs with a bundle file, and in
// another module with a package that mlagen wrote there; both give the same text.
func TestBundles(t *testing.T) {
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	mlagen := filepath.Join(folder, "mlagen")
	inFolder(t, root, "go", "build", "-o", mlagen, "./cmd/mlagen")
	model := filepath.Join(folder, "my.gguf")
	if err := os.Symlink(filepath.Join(root, unseen), model); err != nil {
		t.Fatal(err)
	}
	inFolder(t, folder, mlagen, "-gguf", "my.gguf")
	inFolder(t, folder, mlagen, "init", "-gguf", "my.gguf", "-o", "plm.yaml")
	inFolder(t, folder, mlagen, "-spec", "plm.yaml", "-out", "plm")

	m, err := mla.Open(model, mla.Options{Device: "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	results, err := m.Batch(context.Background(), []string{"one two"}, mla.Generation{Max: 8})
	if err != nil || m.Bundle() != "my" {
		t.Fatalf("bundle %s: %v", m.Bundle(), err)
	}

	if err := os.Remove(filepath.Join(folder, "my.mla")); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	own := strings.Replace(string(mod), "module mla\n", "module example.com/embedder\n", 1) + "\nrequire mla v0.0.0\n\nreplace mla => " + root + "\n"
	for name, text := range map[string]string{"go.mod": own, "go.sum": string(sums), "main.go": program} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got := inFolder(t, folder, "go", "run", ".", model)
	if want := fmt.Sprintln("plm", results[0].Tokens); got != want {
		t.Errorf("another module: %s, here %s", got, want)
	}
}
