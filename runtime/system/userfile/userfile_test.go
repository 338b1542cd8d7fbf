package userfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestOpen checks that a regular file and a link to one are opened, and that everything else is refused at
// once.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	file, link, pipe := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	if err := errors.Join(os.WriteFile(file, []byte("text"), 0o600), os.Symlink(file, link), syscall.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{file: nil, link: nil, pipe: ErrNotRegular, dir: ErrNotRegular, "/dev/zero": ErrNotRegular, filepath.Join(dir, "none"): fs.ErrNotExist} {
		f, err := Open(path)
		if !errors.Is(err, want) || (f == nil) != (want != nil) {
			t.Errorf("%s: %v; want %v", path, err, want)
		}
		if f != nil {
			f.Close()
		}
	}
}

// TestRead checks that no file is read beyond its limit, and that none is waited for.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "ten"), []byte("0123456789"), 0o600), syscall.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path      string
		most      int64
		text, err string
	}{
		{filepath.Join(dir, "ten"), 10, "0123456789", ""},
		{filepath.Join(dir, "ten"), 9, "", "has more than 9 bytes"},
		{"/dev/zero", 1 << 20, "", "more than 1048576 bytes"},
		{pipe, 10, "", ""},
		{dir, 10, "", "is a directory"},
	} {
		data, err := Read(tt.path, tt.most)
		if string(data) != tt.text || (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %q, %v; want %q, %q", tt.path, data, err, tt.text, tt.err)
		}
	}
}

// TestReadPipe checks that data which arrives late through a pipe is read, as from a shell's <(command).
func TestReadPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	go func() {
		time.Sleep(20 * time.Millisecond)
		_, _ = w.WriteString("late")
		w.Close()
	}()
	data, err := Read(filepath.Join("/dev/fd", strconv.Itoa(int(r.Fd()))), 10)
	if err != nil || string(data) != "late" {
		t.Errorf("%q, %v", data, err)
	}
}
