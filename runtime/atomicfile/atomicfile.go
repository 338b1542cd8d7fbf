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

// Target is the file that a rename to path may replace: path itself if it does
// not exist, or the regular file behind it. Folders and devices are an error,
// since a rename would put a file in a device's place.
func Target(path string) (string, error) {
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

// Write replaces the file at path, which everybody may read. Its folder must
// exist. After an error the old file, if any, is unchanged.
func Write(path string, data []byte) error {
	path, err := Target(path)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // after the rename there is nothing to remove
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Chmod(0o644), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
