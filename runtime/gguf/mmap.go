//go:build unix

package gguf

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

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
		_ = unmapFile(data) // the parse error is more useful
	}
	return f, err
}

// MapAlign is the alignment of mapped files in bytes: the page size of Apple
// Silicon, where the GPU uses whole pages of a mapping.
const MapAlign = 16384

// mapFile maps a regular file read-only at a multiple of MapAlign. An empty
// file, which cannot be mapped, gives nil.
func mapFile(path string) ([]byte, error) {
	// Check before opening, as opening a named pipe waits for a writer.
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if info.IsDir() {
		return nil, fmt.Errorf("%s: %s", path, folder(path))
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
	data, err := mapAligned(int(file.Fd()), uintptr(info.Size()))
	if err != nil {
		return nil, fmt.Errorf("%s: map %d bytes: %w", path, info.Size(), err)
	}
	remember(path, data)
	return data, nil
}

// mapAligned reserves address space, keeps an aligned part of it, and maps the file there. Pages after the
// end of the file stay reserved, and must not be touched.
func mapAligned(fd int, size uintptr) ([]byte, error) {
	reserved := alignUp(size) + MapAlign
	base, err := unix.MmapPtr(-1, 0, nil, reserved, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, err
	}
	before := alignUp(uintptr(base)) - uintptr(base)
	start := unsafe.Add(base, before)
	_, err = unix.MmapPtr(fd, 0, start, size, unix.PROT_READ, unix.MAP_SHARED|unix.MAP_FIXED)
	if err != nil {
		return nil, errors.Join(err, unix.MunmapPtr(base, reserved))
	}
	if before > 0 {
		err = unix.MunmapPtr(base, before)
	}
	if after := MapAlign - before; after > 0 {
		err = errors.Join(err, unix.MunmapPtr(unsafe.Add(start, alignUp(size)), after))
	}
	if err != nil {
		return nil, errors.Join(err, unix.MunmapPtr(start, alignUp(size)))
	}
	return unsafe.Slice((*byte)(start), size), nil
}

func alignUp(n uintptr) uintptr { return (n + MapAlign - 1) / MapAlign * MapAlign }

func unmapFile(data []byte) error {
	forget(data)
	return unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(data)), alignUp(uintptr(len(data))))
}

func prefetch(data []byte) error { return unix.Madvise(data, unix.MADV_WILLNEED) }
