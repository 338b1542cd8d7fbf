package ptx

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"mla/gen/objects"
)

// TestCache checks that clang runs once per source, and again only if the source changes or the cached output
// is damaged.
func TestCache(t *testing.T) {
	folder := t.TempDir()
	t.Setenv(objects.Variable, folder)
	kept := func() []string {
		t.Helper()
		list, err := filepath.Glob(filepath.Join(folder, "k-*"))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	const source = "#include <metal_stdlib>\nextern \"C\" __attribute__((global)) void k(int *a) { *a = 1; }\n"
	first, err := compile(source)
	if err != nil {
		t.Fatal(err)
	}
	// What is kept is taken at its word: another text under the key comes back.
	if list := kept(); len(list) != 1 {
		t.Fatalf("%d keys, want 1", len(list))
	}
	key := filepath.Base(kept()[0])[len("k-"):]
	if err := objects.Keep(key, []byte("another text")); err != nil {
		t.Fatal(err)
	}
	if again, err := compile(source); err != nil || string(again) != "another text" {
		t.Errorf("clang ran again: %.40q, %v", again, err)
	}
	if other, err := compile(source + "\n"); err != nil || !bytes.Equal(other, first) || len(kept()) != 2 {
		t.Errorf("another source: %.40q, %v, %d keys", other, err, len(kept()))
	}
	files, err := filepath.Glob(filepath.Join(folder, "o-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if err := os.WriteFile(path, []byte("damaged"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if again, err := compile(source); err != nil || !bytes.Equal(again, first) {
		t.Errorf("damaged: %.40q, %v", again, err)
	}
}
