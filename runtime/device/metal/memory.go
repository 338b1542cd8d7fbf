package metal

import (
	"fmt"
	"unsafe"

	"mla/runtime/device"
	"mla/runtime/device/metal/mtl"
	"mla/runtime/plan"
)

// rowBytes is the size of a plan.Row.
const rowBytes = int64(unsafe.Sizeof(plan.Row{}))

// wantedBytes is the size of the wanted rows, which lie before all rows. It is a multiple of the alignment
// that Metal needs for offsets of constants.
func wantedBytes(batch int) int64 { return rowBytes * int64(batch) }

// memory is all buffers that kernels use.
type memory struct {
	device.Memories[mtl.Buffer]              // nil for spaces that the bundle does not use; weights and rows are below
	weights                     []mtl.Buffer // windows, then copies
	places                      map[*device.Weight]place
	wantedBytes                 int64
	rows                        [ring + 1]mtl.Buffer // by slot: the wanted rows, then all rows; the last slot is that of slices
}

// allocator allocates buffers until one allocation fails.
type allocator struct {
	gpu mtl.Device
	err error
}

func (a *allocator) buffer(label string, bytes int64, storage uint64) (b mtl.Buffer) {
	if a.err == nil {
		b, a.err = a.gpu.NewBuffer(label, uint64(bytes), storage)
	}
	return b
}

// shared allocates a shared buffer with a copy of data.
func (a *allocator) shared(label string, data []byte) mtl.Buffer {
	b := a.buffer(label, int64(len(data)), mtl.StorageShared)
	if a.err == nil {
		copy(b.Bytes(), data)
	}
	return b
}

// window makes a buffer of mapped memory in place.
func (a *allocator) window(m *device.Model, i int, w window) (b mtl.Buffer) {
	if a.err == nil {
		start := unsafe.Pointer(&m.Regions[w.region][w.start])
		b, a.err = a.gpu.NewBufferNoCopy(fmt.Sprintf("weights %d", i), start, uint64(w.length))
	}
	return b
}

// allocate allocates and fills all memory. After an error the result holds the buffers allocated so far.
func allocate(gpu mtl.Device, m *device.Model, l *layout) (*memory, error) {
	a := &allocator{gpu: gpu}
	mem := &memory{places: l.places, wantedBytes: wantedBytes(l.Batch)}
	for i, w := range l.windows {
		mem.weights = append(mem.weights, a.window(m, i, w))
	}
	for _, t := range l.copies {
		mem.weights = append(mem.weights, a.shared(t.Tensor, m.Regions[t.Region][t.Offset:t.Offset+t.Bytes]))
	}
	for i := range l.Layers {
		mem.Caches = append(mem.Caches, a.buffer(fmt.Sprintf("%s %d", plan.SpaceKV, i), l.Cache, mtl.StorageShared)) // the host copies rows
	}
	for i, n := range l.sizes() {
		if s := plan.Space(i); n > 0 && s != plan.SpaceKV {
			mem.Spaces[s] = a.buffer(s.String(), n, storage(m, s))
		}
	}
	for i := range mem.rows {
		mem.rows[i] = a.buffer(fmt.Sprintf("rows %d", i), mem.wantedBytes+rowBytes*int64(l.Width), mtl.StorageShared)
	}
	if a.err != nil {
		return mem, a.err
	}
	device.RopeTable(floats(mem.Spaces[plan.SpaceRope]), l.Freqs, m.Bundle.RopeMScale)
	if b := mem.Spaces[plan.SpaceArgs]; !b.Nil() {
		copy(b.Bytes(), l.constants)
	}
	return mem, nil
}

// storage is the storage mode of a space. Memory that only kernels use may be private to the GPU.
func storage(m *device.Model, s plan.Space) uint64 {
	switch s {
	case plan.SpaceArena:
		return arenaStorage(m)
	case plan.SpaceHeads:
		return mtl.StoragePrivate
	}
	return mtl.StorageShared
}

// floats views a shared buffer.
func floats(b mtl.Buffer) []float32 {
	bytes := b.Bytes()
	return unsafe.Slice((*float32)(unsafe.Pointer(&bytes[0])), len(bytes)/4)
}

// at returns the buffer of a binding for a slot of the ring, and the offset in it, which is below 4 GiB.
func (m *memory) at(b *device.Binding, slot int) (mtl.Buffer, uint64) {
	switch b.Space {
	case plan.SpaceWeight:
		p := m.places[b.Weight]
		return m.weights[p.buffer], p.offset
	case plan.SpaceRow:
		return m.rows[slot], uint64(m.wantedBytes)
	case plan.SpaceWanted:
		return m.rows[slot], 0
	}
	return m.At(b), uint64(b.Offset)
}

// constant lists the buffers that kernels only read, except the rows.
func (m *memory) constant() []mtl.Buffer { return append(m.spaces(true), m.weights...) }

// mutable lists the buffers that kernels write.
func (m *memory) mutable() []mtl.Buffer { return append(m.spaces(false), m.Caches...) }

// spaces lists the buffers of the spaces that kernels only read (constant), or of the others.
func (m *memory) spaces(constant bool) (list []mtl.Buffer) {
	for i, b := range m.Spaces {
		s := plan.Space(i)
		if only := s == plan.SpaceRope || s == plan.SpaceTables || s == plan.SpaceArgs; only == constant && !b.Nil() {
			list = append(list, b)
		}
	}
	return list
}

// release frees everything.
func (m *memory) release() {
	for _, b := range append(append(m.constant(), m.mutable()...), m.rows[:]...) {
		b.Release()
	}
	*m = memory{}
}
