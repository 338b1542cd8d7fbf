// Package atomicfile writes files in one step: readers see the old or the new
// content, never half of it.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
// Commit does nothing, so it can be deferred.
func Create(path string) (*File, error) {
	path, err := target(path)
	if err != nil {
		return nil, err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, about(path, err)
	}
	return &File{path, temp}, nil
}

// target is the file that a rename to path may replace: path itself if it does not
// exist, or the regular file behind it.
func target(path string) (string, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s: is not a regular file", path)
	}
	return filepath.EvalSymlinks(path)
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

// Commit brings the file, which everybody may read, to disk and gives it its name. If
// that fails nothing is left behind, and an old file is unchanged.
func (f *File) Commit() error {
	defer f.Abort()
	// Temporary files are private to the user.
	err := errors.Join(f.temp.Chmod(0o644), f.temp.Sync(), f.temp.Close())
	if err == nil {
		err = os.Rename(f.temp.Name(), f.path)
	}
	if err != nil {
		return about(f.path, err)
	}
	f.temp = nil
	return nil
}

// Abort drops what was written, unless it is committed.
func (f *File) Abort() {
	if f.temp == nil {
		return
	}
	_ = f.temp.Close() // the file is removed, whether or not it was closed before
	_ = os.Remove(f.temp.Name())
	f.temp = nil
}

// Write replaces the file at path; see Create and Commit.
func Write(path string, data []byte) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	defer f.Abort()
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Commit()
}
