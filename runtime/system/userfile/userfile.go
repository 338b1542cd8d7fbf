// Package userfile reads files that somebody else names or fills. A name may lead to a pipe that nobody writes to, or to
// a device that never ends: nothing here waits for the one or reads all of the other.
package userfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// ErrNotRegular says that a name is that of a folder, a pipe, a device or a socket.
var ErrNotRegular = errors.New("is not a regular file")

// Open opens a regular file for reading. Anything else is an ErrNotRegular.
func Open(path string) (*os.File, error) {
	// Before it is opened: opening a named pipe waits for a writer.
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: %w", path, ErrNotRegular)
	}
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}

// OpenPiped opens a file, or a pipe, as shells make one of <(command). A pipe that nobody writes to is empty. Devices
// may have no end: who reads must stop somewhere.
func OpenPiped(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// Read returns what OpenPiped opens, which may be at most most bytes.
func Read(path string, most int64) ([]byte, error) {
	file, err := OpenPiped(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s has more than %d bytes", path, most)
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}
