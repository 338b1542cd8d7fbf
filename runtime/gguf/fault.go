//go:build unix

package gguf

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"unsafe"
)

// mappings is the mapped files, by the address of their first byte.
var mappings = struct {
	sync.Mutex
	files map[uintptr]mapping
}{files: map[uintptr]mapping{}}

type mapping struct {
	path string
	size uintptr
}

// address is the address of a slice's first byte.
func address(data []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(data))) }

// remember records a file that was mapped.
func remember(path string, data []byte) {
	mappings.Lock()
	defer mappings.Unlock()
	mappings.files[address(data)] = mapping{path, uintptr(len(data))}
}

// forget removes a file that is about to be unmapped.
func forget(data []byte) {
	mappings.Lock()
	defer mappings.Unlock()
	delete(mappings.files, address(data))
}

// LostError says that memory of a mapped file could not be read.
type LostError struct {
	Path   string
	Offset int64  // of the byte that cannot be read
	Why    string // what happened to the file
}

func (e *LostError) Error() string {
	return fmt.Sprintf("%s: byte %d cannot be read: %s; start again with the whole file", e.Path, e.Offset, e.Why)
}

// Fault returns an error about a mapped file if recovered, the value of a panic, came from reading it; nil:
// the panic had another cause. Pages of a file that was truncated, or whose disk fails, cannot be read any
// more. Reading them panics only in goroutines that have called debug.SetPanicOnFault; otherwise it ends the
// process.
func Fault(recovered any) error {
	fault, ok := recovered.(interface{ Addr() uintptr })
	if !ok {
		return nil
	}
	mappings.Lock()
	defer mappings.Unlock()
	for start, m := range mappings.files {
		if at := fault.Addr(); at >= start && at-start < m.size {
			return &LostError{m.path, int64(at - start), m.became()}
		}
	}
	return nil
}

// became says what happened to a mapped file.
func (m *mapping) became() string {
	info, err := os.Stat(m.path)
	switch {
	case err == nil && info.Size() < int64(m.size):
		return fmt.Sprintf("the file had %d bytes when it was opened, and now has %d: somebody has overwritten it while it was in use", m.size, info.Size())
	case errors.Is(err, os.ErrNotExist):
		return "the file was made shorter while it was in use, and is gone"
	case err != nil:
		return err.Error()
	}
	return "its disk, or the connection to it, fails"
}

// Guard calls f. If a read of a mapped file fails in f's own goroutine, Guard returns the error of Fault, and
// the process does not end.
func Guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			if err = Fault(p); err == nil {
				panic(p)
			}
		}
	}()
	return f()
}
