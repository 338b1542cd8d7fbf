package devicetest

import (
	"os"
	"path/filepath"
	"testing"
)

// Library is a stand-in for a GPU's driver, which `make sim` builds under that name below
// root, or what an environment variable names.
func Library(t *testing.T, root, name, variable string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, "build", name))
	if err != nil {
		t.Fatal(err)
	}
	if v := os.Getenv(variable); v != "" {
		path = v
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v; make sim builds what stands in for drivers", err)
	}
	return path
}

// Compiled is where it keeps compiled kernels: the folder that an environment variable
// names, for all runs, else one of the test's own.
func Compiled(t *testing.T, variable string) string {
	t.Helper()
	if folder := os.Getenv(variable); folder != "" {
		return folder
	}
	return t.TempDir()
}
