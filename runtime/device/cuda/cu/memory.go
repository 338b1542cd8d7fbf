package cu

import "unsafe"

// MemoryInfo returns the free and the total device memory in bytes.
func MemoryInfo() (free, total uint64, err error) {
	err = check("cuMemGetInfo_v2", api.memoryInfo(&free, &total))
	return free, total, err
}

// Alloc allocates device memory, aligned to at least 256 bytes.
func Alloc(bytes int64) (p Ptr, err error) {
	err = check("cuMemAlloc_v2", api.alloc(&p, uint64(bytes)))
	return p, err
}

// Free frees memory of Alloc. It does nothing to 0.
func (p Ptr) Free() error {
	if p == 0 {
		return nil
	}
	return check("cuMemFree_v2", api.free(p))
}

// Pinned is page-locked host memory, which the device copies without the CPU.
type Pinned struct {
	at    hostAddress
	bytes []byte
}

// AllocPinned allocates page-locked memory.
func AllocPinned(bytes int) (*Pinned, error) { return allocPinned(bytes, 0) }

// AllocMapped allocates page-locked memory that kernels can write over the bus, at the device address that it
// returns. The host sees complete writes once a later event has passed.
func AllocMapped(bytes int) (*Pinned, Ptr, error) {
	const deviceMap = 2 // CU_MEMHOSTALLOC_DEVICEMAP
	m, err := allocPinned(bytes, deviceMap)
	if err != nil {
		return nil, 0, err
	}
	var p Ptr
	err = check("cuMemHostGetDevicePointer_v2", api.mappedAt(&p, m.at, 0))
	return m, p, err
}

func allocPinned(bytes int, flags uint32) (*Pinned, error) {
	var at handle
	if err := check("cuMemHostAlloc", api.hostAlloc(&at, uint64(bytes), flags)); err != nil {
		return nil, err
	}
	memory := *(*unsafe.Pointer)(unsafe.Pointer(&at)) // this memory is not the garbage collector's
	return &Pinned{hostAddress(at), unsafe.Slice((*byte)(memory), bytes)}, nil
}

// Bytes is the memory. While a copy is in flight, its source must not be written and its destination not
// read.
func (m *Pinned) Bytes() []byte { return m.bytes }

// Free frees the memory. It does nothing to nil.
func (m *Pinned) Free() error {
	if m == nil {
		return nil
	}
	m.bytes = nil
	return check("cuMemFreeHost", api.hostFree(m.at))
}

// Upload copies bytes of m, from offset on, to the device, in stream order.
func (s Stream) Upload(dst Ptr, m *Pinned, offset, bytes int) error {
	return check("cuMemcpyHtoDAsync_v2", api.toDevice(dst, m.at+hostAddress(offset), uint64(bytes), s.handle))
}

// Download copies bytes from the device to m, from offset on, in stream order.
func (s Stream) Download(m *Pinned, offset int, src Ptr, bytes int) error {
	return check("cuMemcpyDtoHAsync_v2", api.toHost(m.at+hostAddress(offset), src, uint64(bytes), s.handle))
}

// Copy copies within device memory, in stream order.
func (s Stream) Copy(dst, src Ptr, bytes int64) error {
	return check("cuMemcpyDtoDAsync_v2", api.copy(dst, src, uint64(bytes), s.handle))
}

// Zero clears device memory, in stream order.
func (s Stream) Zero(dst Ptr, bytes int64) error {
	return check("cuMemsetD8Async", api.set(dst, 0, uint64(bytes), s.handle))
}
