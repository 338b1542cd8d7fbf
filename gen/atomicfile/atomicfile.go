// Package atomicfile writes small files in one step: readers see the old or the
// new content, never half of it.
package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
)

// Write replaces the file at path, which everybody may read. Its folder must
// exist. After an error the old file, if any, is unchanged.
func Write(path string, data []byte) error {
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
