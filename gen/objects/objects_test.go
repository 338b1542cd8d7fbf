package objects

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func own(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "objects")
	t.Setenv(Variable, folder)
	return folder
}

func TestFind(t *testing.T) {
	folder := own(t)
	key := Key("a", "b")
	if Key("ab", "") == key || Key("b", "a") == key {
		t.Error("one key for other parts")
	}
	if _, ok := Find(key); ok {
		t.Error("found in no folder")
	}
	want := []byte("object")
	if err := Keep(key, want); err != nil {
		t.Fatal(err)
	}
	if got, ok := Find(key); !ok || !bytes.Equal(got, want) {
		t.Errorf("%q, %v", got, ok)
	}
	for _, pattern := range []string{"o-*", "k-*"} {
		names, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil || len(names) != 1 {
			t.Fatalf("%v, %v", names, err)
		}
		if err := os.Truncate(names[0], 3); err != nil {
			t.Fatal(err)
		}
		if got, ok := Find(key); ok {
			t.Errorf("found %q, which is damaged", got)
		}
		if err := Keep(key, want); err != nil {
			t.Fatal(err)
		}
		if _, ok := Find(key); !ok {
			t.Error("what was made again is not found")
		}
	}
}

// TestWork checks that the temporary files of a killed program are removed, and those of a running one are
// not.
func TestWork(t *testing.T) {
	folder := own(t)
	living, err := NewWork()
	if err != nil {
		t.Fatal(err)
	}
	defer living.Close()
	killed := filepath.Join(folder, "w-killed")
	if err := os.MkdirAll(filepath.Join(killed, "deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Keep(Key("a"), []byte("object")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(killed); err == nil {
		t.Error("the folder of a killed program is there")
	}
	if _, err := os.Stat(living.Path); err != nil {
		t.Error(err)
	}
}

// TestTrim checks that the objects used last are kept.
func TestTrim(t *testing.T) {
	folder := own(t)
	for i := range 8 {
		if err := Keep(Key(fmt.Sprint(i)), []byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
	}
	names, err := filepath.Glob(filepath.Join(folder, "*-*"))
	if err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	for _, name := range names {
		if err := os.Chtimes(name, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := Find(Key("3")); !ok {
		t.Fatal("3 is not there")
	}
	t.Setenv(BytesVariable, fmt.Sprint(5*block))
	if err := Keep(Key("new"), []byte("new")); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]bool{"new": true, "3": true, "0": false, "7": false} {
		if _, ok := Find(Key(key)); ok != want {
			t.Errorf("%s: %v, want %v", key, ok, want)
		}
	}
}
