package probe

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"unsafe"

	"mla/runtime/device"
	"mla/runtime/device/metal"
	"mla/runtime/doctor/checkup"
	"mla/runtime/engine"
)

// A file of windowBytes is mapped in two windows. The second begins beyond the reach of 32 bits.
const (
	windowBytes = 5 << 30
	secondAt    = 4 << 30
)

// Windows reads a byte near the end of each of two windows of a sparse file of 5 GiB. A window is wired as a
// whole.
func Windows(w *checkup.Writer, d *metal.Device) (err error) {
	const name = "two windows"
	if d.MaxMemory < windowBytes+1<<30 || d.MaxBuffer < secondAt {
		w.Write(checkup.Skip, name, "they take %s; the GPU may have %s, and %s in one buffer", engine.Size(windowBytes), engine.Size(int64(d.MaxMemory)), engine.Size(int64(d.MaxBuffer)))
		return nil
	}
	folder, err := os.MkdirTemp("", "mlarun-doctor-")
	if err != nil {
		w.Write(checkup.Skip, name, "%v", err)
		return nil
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	data, unmap, err := sparse(filepath.Join(folder, "sparse"))
	if err != nil {
		w.Write(checkup.Skip, name, "there is no file of %s: %v", engine.Size(windowBytes), err)
		return nil
	}
	defer func() { err = errors.Join(err, unmap()) }()
	const first, second = secondAt - 3, 1<<30 - 5
	data[first], data[secondAt+second] = 0x5a, 0xa5
	got, err := d.Windows(data[:secondAt], data[secondAt:windowBytes], [2]uint32{first, second})
	if err != nil {
		return unable(w, name, err)
	}
	if got != [2]byte{0x5a, 0xa5} {
		w.Write(checkup.Fail, name, "their last bytes are %x; expected 5aa5", got)
		return nil
	}
	w.Write(checkup.Pass, name, "%s in place", engine.Size(windowBytes))
	return nil
}

// sparse maps a file of windowBytes without contents, from a multiple of the GPU's page size.
func sparse(path string) (data []byte, unmap func() error, err error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	const length = windowBytes + device.MappedAlign
	if err := f.Truncate(length); err != nil {
		return nil, nil, err
	}
	all, err := syscall.Mmap(int(f.Fd()), 0, length, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil, fmt.Errorf("map it: %w", err)
	}
	skip := -uintptr(unsafe.Pointer(&all[0])) % device.MappedAlign
	return all[skip:], func() error { return syscall.Munmap(all) }, nil
}
