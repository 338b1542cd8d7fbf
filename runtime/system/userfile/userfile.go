// Package userfile reads files whose names or contents come from a user. Such a name may be that of a pipe
// without a writer, or of a device without an end. The functions here neither block on the former nor read
// all of the latter.
package userfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// ErrNotRegular says that a path is a folder, a pipe, a device or a socket.
var ErrNotRegular = errors.New("is not a regular file")

// Open opens a regular file for reading. It returns ErrNotRegular for anything else.
func Open(path string) (*os.File, error) {
	// Check before opening, as opening a named pipe waits for a writer.
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: %w", path, ErrNotRegular)
	}
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}

// OpenPiped opens a file or a pipe, such as the shell's <(command). A pipe without a writer is empty. A
// device may have no end, so the caller must limit what it reads.
func OpenPiped(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// Read returns the contents of a file or pipe (see OpenPiped) of at most most bytes.
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
