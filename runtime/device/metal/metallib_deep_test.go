//go:build deep

package metal_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"mla/runtime/device/metal"
	"mla/runtime/doctor/devicetest"
)

// TestMetallib checks that kernels come from a compiled library if there is one of exactly the same source.
// In the simulator a library is the shared object that it leaves in its cache.
func TestMetallib(t *testing.T) {
	lib, work, cache := library(t), t.TempDir(), t.TempDir()
	name := metal.LibraryName(bundle(libraryBundle))
	run := func(what, caseName, want string) {
		t.Helper()
		cmd := exec.Command(os.Args[0])
		cmd.Dir = work
		cmd.Env = append(os.Environ(), caseVariable+"="+caseName+"|"+lib, "METALSIM_STRICT=1", "MLA_KERNEL_CACHE="+cache)
		out, err := cmd.CombinedOutput()
		if (want == "") != (err == nil) || !bytes.Contains(out, []byte(want)) || bytes.Contains(out, []byte("[metalsim]")) {
			t.Fatalf("%s: error %v; expected %q\n%s", what, err, want, head(out))
		}
	}
	run("no folder", "library of none", "")
	object := devicetest.KernelObject(t, cache)
	folder := filepath.Join(work, libraryFolder)
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name), object, 0o600); err != nil {
		t.Fatal(err)
	}
	run("the library", "library of the source", "")

	// One of another source has another name, and is not taken.
	if err := os.Rename(filepath.Join(folder, name), filepath.Join(folder, libraryBundle+"-0123456789ab.metallib")); err != nil {
		t.Fatal(err)
	}
	run("another source's library", "library of none", "")

	// A damaged one is passed over.
	if err := os.WriteFile(filepath.Join(folder, name), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	run("a damaged library", "library of none", "")
}
