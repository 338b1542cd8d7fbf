package buildinfo

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLine checks that programs print the version that a release build was given.
func TestLine(t *testing.T) {
	if got := Line("x"); !strings.HasPrefix(got, "x "+Version()+", commit ") || Version() == "" {
		t.Error(got)
	}
	path := filepath.Join(t.TempDir(), "print")
	const flags = "-X mla/runtime/system/buildinfo.version=1.2.3 -X mla/runtime/system/buildinfo.commit=abc"
	if out, err := exec.Command("go", "build", "-ldflags", flags, "-o", path, "./testdata/print").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(path).CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "print 1.2.3, commit abc, go") {
		t.Errorf("%v\n%s", err, out)
	}
}
