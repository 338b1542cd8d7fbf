package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestModes checks file modes: a new file has the umask's mode, a replaced one keeps its mode, and a private
// one is for its user only. The file under construction never has wider permissions.
func TestModes(t *testing.T) {
	const none = fs.ModeIrregular
	for _, tt := range []struct {
		umask                 int
		before, plain, secret fs.FileMode
	}{
		{0o077, none, 0o600, 0o600},
		{0o022, none, 0o644, 0o600},
		{0o002, none, 0o664, 0o600},
		{0o022, 0o600, 0o600, 0o600},
		{0o077, 0o644, 0o644, 0o600},
		{0o077, 0o640, 0o640, 0o600},
		{0o000, 0o400, 0o400, 0o600},
		{0o022, 0o000, 0o000, 0o600},
	} {
		for _, private := range []bool{false, true} {
			path := filepath.Join(t.TempDir(), "file")
			if tt.before != none {
				if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, tt.before)); err != nil {
					t.Fatal(err)
				}
			}
			create, want := Create, tt.plain
			if private {
				create, want = CreatePrivate, tt.secret
			}
			old := syscall.Umask(tt.umask)
			f, err := create(path)
			syscall.Umask(old)
			if err != nil {
				t.Fatal(err)
			}
			if info, err := f.temp.Stat(); err != nil || info.Mode().Perm() != want {
				t.Errorf("umask %03o, before %v, private %t: %v while it is written, %v; want %v", tt.umask, tt.before, private, info.Mode(), err, want)
			}
			if err := f.Commit(); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(path); err != nil || info.Mode() != want {
				t.Errorf("umask %03o, before %v, private %t: %v, %v; want %v", tt.umask, tt.before, private, info.Mode(), err, want)
			}
		}
	}
}

// TestLeftovers checks that the next writer in a folder removes the files of killed writers, and no others.
func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	keep := []string{".other.12345678", ".model.mla-unfinished", "file.12345678.mla-unfinished", ".file.123.mla-unfinished", ".file.12345678.mla-unfinished.gguf"}
	remove := []string{".file.0123abcd.mla-unfinished", ".another.mlaprompt.89abcdef.mla-unfinished"}
	for _, name := range append(keep, remove...) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("left"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(dir, ".link.01234567.mla-unfinished")
	if err := os.Symlink(filepath.Join(dir, keep[0]), link); err != nil {
		t.Fatal(err)
	}
	running, err := CreatePrivate(filepath.Join(dir, "running"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // with another writer beside it
		if err := Write(filepath.Join(dir, "file"), []byte("text")); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range remove {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there: %v", name, err)
		}
	}
	for _, name := range append(keep, filepath.Base(link)) {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if _, err := running.Write([]byte("text")); err != nil {
		t.Error(err)
	}
	if err := running.Commit(); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != len(keep)+3 {
		t.Errorf("%d files, %v; want those that were kept, a link and two new ones", len(entries), err)
	}
}

// TestTogether checks that many writers and removers of one folder do not remove each other's files.
func TestTogether(t *testing.T) {
	dir := t.TempDir()
	failed := make(chan error)
	for i := range 8 {
		go func() {
			var err error
			for n := 0; n < 40 && err == nil; n++ {
				err = Write(filepath.Join(dir, string(rune('a'+i%2))), version(n))
			}
			failed <- err
		}()
	}
	for range 8 {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v; want two files", entries, err)
	}
}
