// Package atomicfile writes files in one step: readers see the old or the new
// content, never half of it.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// File is a file that is being written, beside the one whose place it takes when it is
// committed.
type File struct {
	path string   // of what it replaces
	temp *os.File // nil after Commit and Abort
}

// Create begins a file that will replace the one at path, or the one that a link there
// leads to. Its folder must exist. A folder or a device is an error, since a rename
// would put a file in its place. The caller must end with Commit or Abort; Abort after
// Commit does nothing, so it can be deferred. The file has the mode of the one that it
// replaces; a new one has what the umask leaves of 0666. What killed processes have left
// in the folder is removed.
func Create(path string) (*File, error) {
	path, mode, err := target(path)
	if err != nil {
		return nil, err
	}
	return create(path, mode)
}

// CreatePrivate is Create for what a user has written or read: prompts, answers, conversations.
// Whatever the umask and the file before, only the user may read it.
func CreatePrivate(path string) (*File, error) {
	path, _, err := target(path)
	if err != nil {
		return nil, err
	}
	return create(path, private)
}

const (
	private = fs.FileMode(0o600)
	asUmask = fs.ModeIrregular // of no file: a new one has what the umask leaves
)

func create(path string, mode fs.FileMode) (*File, error) {
	removeLeftovers(filepath.Dir(path))
	first := mode
	if mode == asUmask {
		first = 0o666
	}
	temp, err := newTemp(path, first)
	if err == nil && mode != asUmask { // exactly, whatever the umask
		if err = temp.Chmod(mode); err != nil {
			discard(temp)
		}
	}
	if err != nil {
		return nil, about(path, err)
	}
	return &File{path, temp}, nil
}

// newTemp makes a file beside path, and takes its lock: while a process has it the file is being written. Between the
// two another process may have taken it for a leftover and removed it. Then the next one is made.
func newTemp(path string, mode fs.FileMode) (*os.File, error) {
	for range 1000 {
		name := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%08x%s", filepath.Base(path), rand.Uint32(), ending))
		temp, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		// Without locks there are no leftovers to remove, and nobody who does.
		if err := lock(temp); !errors.Is(err, unix.EWOULDBLOCK) && same(temp) {
			return temp, nil
		}
		discard(temp)
	}
	return nil, &fs.PathError{Op: "write", Path: path, Err: errors.New("no temporary file beside it can be locked")}
}

// same says whether a file still has its name.
func same(f *os.File) bool {
	open, err := f.Stat()
	named, gone := os.Lstat(f.Name())
	return err == nil && gone == nil && os.SameFile(open, named)
}

func discard(temp *os.File) {
	_ = temp.Close() // the file is removed, whether or not it was closed before
	_ = os.Remove(temp.Name())
}

// target is the file that a rename to path may replace: path itself if it does not
// exist, or the regular file that it links to, with its mode.
func target(path string) (string, fs.FileMode, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, asUmask, nil
	}
	if err != nil {
		return "", 0, err
	}
	if !info.Mode().IsRegular() {
		return "", 0, fmt.Errorf("%s: is not a regular file", path)
	}
	path, err = filepath.EvalSymlinks(path)
	return path, info.Mode().Perm(), err
}

// about names the file that was to be written, not the temporary one.
func about(path string, err error) error {
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		return &fs.PathError{Op: "write", Path: path, Err: failed.Err}
	}
	return err
}

// Write implements io.Writer.
func (f *File) Write(data []byte) (int, error) {
	n, err := f.temp.Write(data)
	return n, about(f.path, err)
}

// Commit brings the file to disk and gives it its name. If that fails nothing is left
// behind, and an old file is unchanged.
func (f *File) Commit() error {
	defer f.Abort()
	err := f.temp.Sync()
	if err == nil { // before it is closed: then its lock is gone, and another process may take it for a leftover
		err = os.Rename(f.temp.Name(), f.path)
	}
	if err == nil {
		err = f.temp.Close()
		f.temp = nil
	}
	return about(f.path, err)
}

// Abort drops what was written, unless it is committed.
func (f *File) Abort() {
	if f.temp != nil {
		discard(f.temp)
		f.temp = nil
	}
}

// Write replaces the file at path; see Create and Commit.
func Write(path string, data []byte) error { return write(path, data, Create) }

// WritePrivate replaces the file at path; see CreatePrivate and Commit.
func WritePrivate(path string, data []byte) error { return write(path, data, CreatePrivate) }

func write(path string, data []byte, create func(string) (*File, error)) error {
	f, err := create(path)
	if err != nil {
		return err
	}
	defer f.Abort()
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Commit()
}
