package trust

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var (
	key  = Key{GPU: "Apple M1", System: "macOS 15.1, build 24B83", Program: "v1", Library: "", Settings: "MTL_DEBUG_LAYER=1"}
	good = Verdict{OK: true}
	bad  = Verdict{Why: "it crashed"}
)

// TestKept checks that verdicts are kept, one after the other.
func TestKept(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a", "b")
	if v, ok := Kept(folder, ICB, key); ok {
		t.Errorf("%+v of no folder", v)
	}
	for _, v := range []Verdict{good, bad, good} {
		if err := Keep(folder, ICB, key, v); err != nil {
			t.Fatal(err)
		}
		if got, ok := Kept(folder, ICB, key); !ok || got != v {
			t.Errorf("%+v, %v; kept was %+v", got, ok, v)
		}
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) != 1 {
		t.Errorf("%v, %v; expected a single file", files, err)
	}
}

// TestKey checks that a verdict holds for its key only.
func TestKey(t *testing.T) {
	folder := t.TempDir()
	if err := Keep(folder, ICB, key, good); err != nil {
		t.Fatal(err)
	}
	for i := range reflect.TypeFor[Key]().NumField() {
		other := key
		reflect.ValueOf(&other).Elem().Field(i).SetString("other")
		if v, ok := Kept(folder, ICB, other); ok {
			t.Errorf("%+v for %+v", v, other)
		}
	}
}

// TestKinds checks that verdicts of two kinds are independent.
func TestKinds(t *testing.T) {
	folder, budget := t.TempDir(), Verdict{Why: "it was killed", Milliseconds: 75}
	if err := Keep(folder, ICB, key, good); err != nil {
		t.Fatal(err)
	}
	if v, ok := Kept(folder, Budget, key); ok {
		t.Errorf("%+v of another kind", v)
	}
	if err := Keep(folder, Budget, key, budget); err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[Kind]Verdict{ICB: good, Budget: budget} {
		if v, ok := Kept(folder, kind, key); !ok || v != want {
			t.Errorf("%s: %+v, %v", kind, v, ok)
		}
	}
}

// TestForeign checks foreign content in place of an entry: it is ignored, and replaced where possible.
func TestForeign(t *testing.T) {
	entry := func(t *testing.T) []byte {
		folder := t.TempDir()
		if err := Keep(folder, ICB, key, bad); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(Path(folder, ICB, key))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	write := func(data func(*testing.T) []byte) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := os.WriteFile(path, data(t), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		make     func(t *testing.T, path string)
		replaced bool
	}{
		"empty":     {write(func(*testing.T) []byte { return nil }), true},
		"text":      {write(func(*testing.T) []byte { return []byte("ok") }), true},
		"another":   {write(func(*testing.T) []byte { return []byte(`{"ok":true}`) }), true},
		"undecided": {write(func(t *testing.T) []byte { return bytes.Replace(entry(t), []byte("it crashed"), nil, 1) }), true},
		"truncated": {write(func(t *testing.T) []byte { return entry(t)[:100] }), true},
		"huge":      {write(func(t *testing.T) []byte { return append(entry(t), bytes.Repeat([]byte(" "), most)...) }), true},
		"link":      {func(t *testing.T, path string) { must(t, os.Symlink("/dev/zero", path)) }, true},
		"pipe":      {func(t *testing.T, path string) { must(t, syscall.Mkfifo(path, 0o600)) }, true},
		"directory": {func(t *testing.T, path string) { must(t, os.MkdirAll(filepath.Join(path, "theirs"), 0o755)) }, false},
		"not folder": {func(t *testing.T, path string) {
			must(t, os.Remove(filepath.Dir(path)))
			write(entry)(t, filepath.Dir(path))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "mla")
			must(t, os.Mkdir(folder, 0o755))
			tt.make(t, Path(folder, ICB, key))
			if v, ok := Kept(folder, ICB, key); ok {
				t.Errorf("taken for %+v", v)
			}
			err := Keep(folder, ICB, key, good)
			if v, ok := Kept(folder, ICB, key); tt.replaced != (err == nil) || tt.replaced != ok || ok && v != good {
				t.Errorf("%+v, %v after Keep, which gave %v", v, ok, err)
			}
			if files, err := os.ReadDir(folder); err == nil && len(files) != 1 {
				t.Errorf("%v is left", files)
			}
		})
	}
}

// TestWhy checks that a reason is one line of bounded length without control characters, also if a file has
// another.
func TestWhy(t *testing.T) {
	folder := t.TempDir()
	if err := Keep(folder, ICB, key, Verdict{Why: "\x1b[31mred\nsecond\tline " + strings.Repeat("é", longestWhy)}); err != nil {
		t.Fatal(err)
	}
	v, ok := Kept(folder, ICB, key)
	if !ok || !strings.HasPrefix(v.Why, "[31mred second line é") || len(v.Why) > longestWhy+5 {
		t.Errorf("%q", v.Why)
	}
	data, err := os.ReadFile(Path(folder, ICB, key))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(Path(folder, ICB, key), bytes.Replace(data, []byte("[31m"), []byte(`\u001b[31m`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if v, ok := Kept(folder, ICB, key); !ok || strings.ContainsRune(v.Why, '\x1b') {
		t.Errorf("%q", v.Why)
	}
}

// TestLongKey checks that an entry which could not be read again is not written.
func TestLongKey(t *testing.T) {
	long := key
	long.Settings = strings.Repeat("x", most)
	folder := t.TempDir()
	if err := Keep(folder, ICB, long, good); err == nil {
		t.Error("kept")
	}
}

// TestMost checks the longest allowed entry, and that one byte more is refused.
func TestMost(t *testing.T) {
	folder, long := t.TempDir(), key
	if err := Keep(folder, ICB, key, good); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(Path(folder, ICB, key))
	if err != nil {
		t.Fatal(err)
	}
	long.Settings += strings.Repeat("x", most-int(info.Size()))
	if err := Keep(folder, ICB, long, good); err != nil {
		t.Fatal(err)
	}
	if v, ok := Kept(folder, ICB, long); !ok || v != good {
		t.Errorf("%+v, %t", v, ok)
	}
	long.Settings += "x"
	if err := Keep(folder, ICB, long, good); err == nil {
		t.Error("a byte too many is kept")
	}
}

// TestTogether checks many parallel writers and readers, as of many processes: every entry that is read is
// complete.
func TestTogether(t *testing.T) {
	folder := t.TempDir()
	if err := Keep(folder, ICB, key, good); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 50 {
				if i%2 == 0 {
					if err := Keep(folder, ICB, key, good); err != nil {
						t.Error(err)
					}
				} else if v, ok := Kept(folder, ICB, key); !ok || v != good {
					t.Errorf("%+v, %v", v, ok)
				}
			}
		})
	}
	all.Wait()
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lib.so")
	seen := map[string]bool{File(""): true, File(path): true}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, content := range []string{"a", "ab", "ab"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at.Add(time.Duration(max(i, 1))*time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if name := File(path); seen[name] || !strings.HasPrefix(name, path) {
			t.Errorf("%q is known already, or another file", name)
		} else {
			seen[name] = true
		}
	}
}

func TestSettings(t *testing.T) {
	got := Settings([]string{"Z=1", "METALSIM_OS=15", "HOME=/root", "MTL_DEBUG_LAYER=1", "METAL_DEVICE_WRAPPER_TYPE=1", "DYLD_X=", "MET=2"})
	if want := "DYLD_X=\nMETALSIM_OS=15\nMETAL_DEVICE_WRAPPER_TYPE=1\nMTL_DEBUG_LAYER=1"; got != want {
		t.Errorf("%q; expected %q", got, want)
	}
}
