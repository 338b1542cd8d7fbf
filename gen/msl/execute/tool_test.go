package execute

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestObjects: an object is kept by everything it follows from, until nobody has used it
// for long.
func TestObjects(t *testing.T) {
	path := func(source string, flags ...string) string {
		t.Helper()
		p, err := objectPath("tools", source, flags)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	first := path("source")
	if path("source") != first {
		t.Error("two objects of one source")
	}
	for _, other := range []string{path("source "), path("source", "-fast"), path("-fast\nsource")} {
		if other == first {
			t.Errorf("one object for two sources, or for two ways to compile it: %s", other)
		}
	}
	dir := filepath.Join(t.TempDir(), "objects")
	if err := makeRoom(dir); err != nil {
		t.Fatal(err)
	}
	used, unused := filepath.Join(dir, "used"), filepath.Join(dir, "unused")
	for name, age := range map[string]time.Duration{used: keptFor / 2, unused: 2 * keptFor} {
		at := time.Now().Add(-age)
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := makeRoom(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(used); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(unused); err == nil {
		t.Error("what nobody uses is kept")
	}
}

// TestObjectIsKept: the second Compile of a source takes the object of the first.
func TestObjectIsKept(t *testing.T) {
	source := kernel("a[0] = 1.0f;")
	if _, err := run(t, Fast, "a[0] = 1.0f;", nil); err != nil {
		t.Fatal(err)
	}
	root, err := tools()
	if err != nil {
		t.Fatal(err)
	}
	object, err := objectPath(root, source, checks[Fast].flags)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(object)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := run(t, Fast, "a[0] = 1.0f;", nil); err != nil || out[0] != 1 {
		t.Fatalf("%v, %v", out[0], err)
	}
	after, err := os.Stat(object)
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("compiled again (%v)", err)
	}
}
