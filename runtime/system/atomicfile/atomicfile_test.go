package atomicfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.yaml")
	for _, text := range []string{"first, longer", "second"} {
		if err := Write(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%q, %v; want %q", got, err, text)
		}
	}
	// A link is followed; a device stays what it is.
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := Write(link, []byte("third")); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "third" {
		t.Errorf("%q, %v; want the linked file to be written", got, err)
	}
	if _, _, err := target(os.DevNull); err == nil { // not through Write: if broken, it would replace the device
		t.Error("a device may be replaced")
	}
	// A folder cannot be replaced by a file, and one that is absent not written to.
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"folder": "folder: is not a regular file", "absent/x": "absent/x: no such file or directory"} {
		if err := Write(filepath.Join(dir, name), nil); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}
