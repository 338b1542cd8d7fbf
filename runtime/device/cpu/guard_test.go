//go:build unix

package cpu

import (
	"os"
	"runtime/debug"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Guard places all memory that runners get from now on right before an inaccessible page. The returned
// function unmaps this memory; the runners must be closed before.
func Guard(t *testing.T) (free func()) {
	var mu sync.Mutex
	var all [][]byte
	before := newMemory
	newMemory = func(n int64) []byte {
		whole, part, err := guarded(n)
		if err != nil {
			t.Errorf("%d bytes between guard pages: %v", n, err)
			return before(n)
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, whole)
		return part
	}
	return func() {
		newMemory = before
		for _, m := range all {
			if err := unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(m)), uintptr(len(m))); err != nil {
				t.Error(err)
			}
		}
	}
}

// guarded maps n bytes that begin at a multiple of 8 and end at most 7 bytes before an inaccessible page.
func guarded(n int64) (whole, part []byte, err error) {
	page := int64(os.Getpagesize())
	size := (n + page - 1) / page * page
	base, err := unix.MmapPtr(-1, 0, nil, uintptr(size+2*page), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, nil, err
	}
	whole = unsafe.Slice((*byte)(base), size+2*page)
	if err := unix.Mprotect(whole[page:page+size], unix.PROT_READ|unix.PROT_WRITE); err != nil {
		return nil, nil, err
	}
	from := page + (size-n)&^7
	return whole, whole[from : from+n : from+n], nil
}

// TestGuard checks that the first byte after the memory, up to its alignment, is inaccessible, and so is the
// last byte before its page.
func TestGuard(t *testing.T) {
	defer Guard(t)()
	for _, n := range []int64{8, 4000, 4096, 4104} {
		part := newMemory(n)
		base := unsafe.Pointer(unsafe.SliceData(part))
		for _, at := range []int64{n, -int64(uintptr(base)%uintptr(os.Getpagesize())) - 1} {
			if !faults(func() { sink += int(*(*byte)(unsafe.Add(base, at))) }) {
				t.Errorf("byte %d of %d can be read", at, n)
			}
		}
		if faults(func() { part[0], part[n-1] = 1, 1 }) {
			t.Errorf("%d bytes cannot be written", n)
		}
	}
}

// faults reports whether f touches inaccessible memory.
func faults(f func()) (did bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { did = recover() != nil }()
	f()
	return false
}
