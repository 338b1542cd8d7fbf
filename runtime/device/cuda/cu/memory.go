package cu

import "unsafe"

// MemoryInfo is the device memory in bytes: what is free and what there is.
func MemoryInfo() (free, total uint64, err error) {
	err = check("cuMemGetInfo_v2", api.memoryInfo(&free, &total))
	return free, total, err
}

// Alloc reserves device memory, aligned to at least 256 bytes.
func Alloc(bytes int64) (p Ptr, err error) {
	err = check("cuMemAlloc_v2", api.alloc(&p, uint64(bytes)))
	return p, err
}

// Free gives memory of Alloc back; 0 is none.
func (p Ptr) Free() error {
	if p == 0 {
		return nil
	}
	return check("cuMemFree_v2", api.free(p))
}

// Pinned is page-locked host memory, which copies reach without the CPU.
type Pinned struct {
	at    hostAddress
	bytes []byte
}

// AllocPinned reserves page-locked memory.
func AllocPinned(bytes int) (*Pinned, error) { return allocPinned(bytes, 0) }

// AllocMapped reserves page-locked memory to which kernels write over the bus, at the address
// on the device that it returns. What they write is complete once a later event has passed.
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
	memory := *(*unsafe.Pointer)(unsafe.Pointer(&at)) // not memory that the garbage collector moves
	return &Pinned{hostAddress(at), unsafe.Slice((*byte)(memory), bytes)}, nil
}

// Bytes is the memory. What a copy in flight reads must not be written, and what
// it writes not be read.
func (m *Pinned) Bytes() []byte { return m.bytes }

// Free gives the memory back; nil is none.
func (m *Pinned) Free() error {
	if m == nil {
		return nil
	}
	m.bytes = nil
	return check("cuMemFreeHost", api.hostFree(m.at))
}

// Upload copies bytes of m from offset on to the device, in the order of the stream.
func (s Stream) Upload(dst Ptr, m *Pinned, offset, bytes int) error {
	return check("cuMemcpyHtoDAsync_v2", api.toDevice(dst, m.at+hostAddress(offset), uint64(bytes), s.handle))
}

// Download copies bytes to m, from offset on.
func (s Stream) Download(m *Pinned, offset int, src Ptr, bytes int) error {
	return check("cuMemcpyDtoHAsync_v2", api.toHost(m.at+hostAddress(offset), src, uint64(bytes), s.handle))
}

// Copy copies within device memory.
func (s Stream) Copy(dst, src Ptr, bytes int64) error {
	return check("cuMemcpyDtoDAsync_v2", api.copy(dst, src, uint64(bytes), s.handle))
}

// Zero clears device memory.
func (s Stream) Zero(dst Ptr, bytes int64) error {
	return check("cuMemsetD8Async", api.set(dst, 0, uint64(bytes), s.handle))
}
