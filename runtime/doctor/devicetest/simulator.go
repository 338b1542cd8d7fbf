package devicetest

import (
	"bytes"
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

// KernelObject is what a simulator left in a folder that MLA_KERNEL_CACHE named: the shared
// object of the one source that it compiled. Others there have no table of kernels.
func KernelObject(t *testing.T, folder string) []byte {
	t.Helper()
	objects := kernelObjects(t, folder)
	if len(objects) != 1 {
		t.Fatalf("%s has %d objects with kernels, want 1", folder, len(objects))
	}
	return objects[0]
}

// NoKernelObject wants a simulator to have compiled no kernels there.
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
		if bytes.Contains(object, []byte("msl_kernels")) { // which the loader asks for
			objects = append(objects, object)
		}
	}
	return objects
}
