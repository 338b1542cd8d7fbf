//go:build unix

package gguf

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// openShard maps one file and parses it.
func openShard(path string) (*File, error) {
	data, err := mapFile(path)
	if err != nil {
		return nil, err
	}
	f, err := parse(Shard{Path: path, Data: data, mapped: len(data) > 0})
	if err != nil && len(data) > 0 {
		_ = unmapFile(data) // the parse error is the one to report
	}
	return f, err
}

// mapFile maps a regular file read-only. Its start is aligned to a page. An
// empty file, which cannot be mapped, gives nil.
func mapFile(path string) ([]byte, error) {
	// Before Open, which would wait for a writer if path were a named pipe.
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: is not a regular file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() == 0 {
		return nil, nil
	}
	data, err := unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("%s: map %d bytes: %w", path, info.Size(), err)
	}
	return data, nil
}

func unmapFile(data []byte) error { return unix.Munmap(data) }

func prefetch(data []byte) error { return unix.Madvise(data, unix.MADV_WILLNEED) }
