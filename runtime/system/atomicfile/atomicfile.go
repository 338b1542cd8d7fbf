// Package atomicfile writes files atomically: readers see either the old or the new content.
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

// File is a file that is being written under a temporary name. Commit gives it the name of the file that it
// replaces.
type File struct {
	path string   // of the file that it replaces
	temp *os.File // nil after Commit and Abort
}

// Create begins a file that will replace the one at path, or the target of a link at path. The folder must
// exist. If path is a folder or a device it fails, because a rename would replace that by a file. The caller
// must end with Commit or Abort; Abort after Commit does nothing, so it can be deferred. The file gets the
// mode of the one that it replaces; a new file has mode 0666 without the umask's bits. Create removes
// temporary files of killed processes from the folder.
func Create(path string) (*File, error) {
	path, mode, err := target(path)
	if err != nil {
		return nil, err
	}
	return create(path, mode)
}

// CreatePrivate is Create for a user's prompts, answers and conversations. Only the user can read the file,
// whatever the umask and the old file's mode.
func CreatePrivate(path string) (*File, error) {
	path, _, err := target(path)
	if err != nil {
		return nil, err
	}
	return create(path, private)
}

const (
	private = fs.FileMode(0o600)
	asUmask = fs.ModeIrregular // not a real mode: a new file gets mode 0666 without the umask's bits
)

func create(path string, mode fs.FileMode) (*File, error) {
	removeLeftovers(filepath.Dir(path))
	first := mode
	if mode == asUmask {
		first = 0o666
	}
	temp, err := newTemp(path, first)
	if err == nil && mode != asUmask { // set exactly this mode, whatever the umask
		if err = temp.Chmod(mode); err != nil {
			discard(temp)
		}
	}
	if err != nil {
		return nil, about(path, err)
	}
	return &File{path, temp}, nil
}

// newTemp creates a file next to path and takes its lock; a locked file is being written. Between the two
// steps another process may have removed the file as a leftover. Then newTemp creates another one.
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
		// On a file system without locks, no process removes leftovers.
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
	_ = temp.Close() // the file is removed whether or not it was closed before
	_ = os.Remove(temp.Name())
}

// target is the file that a rename to path may replace, with its mode: path itself if it does not exist, or
// the regular file at path or at the end of its link.
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

// about puts the name of the final file, not of the temporary one, into an error.
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

// Commit syncs the file to disk and renames it. If that fails, nothing is left of it, and the old file is
// unchanged.
func (f *File) Commit() error {
	defer f.Abort()
	err := f.temp.Sync()
	if err == nil { // before Close, which releases the lock, so that another process might remove the file as a leftover
		err = os.Rename(f.temp.Name(), f.path)
	}
	if err == nil {
		err = f.temp.Close()
		f.temp = nil
	}
	return about(f.path, err)
}

// Abort drops the file, unless it is committed.
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
