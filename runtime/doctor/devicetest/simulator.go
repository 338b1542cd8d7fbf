package devicetest

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// Library returns the path of a library that stands in for a GPU's driver: the file called name below root,
// which `make sim` builds, or the value of an environment variable. Without the library the test fails.
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

// KernelObject returns the shared object of the one source that a simulator compiled into the folder of
// MLA_KERNEL_CACHE. Other objects there have no table of kernels.
func KernelObject(t *testing.T, folder string) []byte {
	t.Helper()
	objects := kernelObjects(t, folder)
	if len(objects) != 1 {
		t.Fatalf("%s has %d objects with kernels, want 1", folder, len(objects))
	}
	return objects[0]
}

// NoKernelObject fails the test if a simulator has compiled kernels into the folder.
func NoKernelObject(t *testing.T, folder string) {
	t.Helper()
	if n := len(kernelObjects(t, folder)); n > 0 {
		t.Errorf("%s has %d objects with kernels, want none", folder, n)
	}
}

func kernelObjects(t *testing.T, folder string) (objects [][]byte) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "o-*"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s has %d objects, %v", folder, len(names), err)
	}
	for _, name := range names {
		object, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(object, []byte("msl_kernels")) { // the symbol that the loader looks up
			objects = append(objects, object)
		}
	}
	return objects
}
