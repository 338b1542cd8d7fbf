package cuda

import (
	"errors"
	"fmt"
	"unsafe"

	"mla/runtime/device"
	"mla/runtime/device/cuda/cu"
	"mla/runtime/plan"
)

// rowBytes is the size of a plan.Row.
const rowBytes = int64(unsafe.Sizeof(plan.Row{}))

// memory is all memory that a runner has on the device.
type memory struct {
	device.Memories[cu.Ptr] // of SpaceWeight all weights; of SpaceRow the rows after the wanted ones; 0: the bundle does not use the space
	places                  *weights
	picked                  hostRange
	cache                   int64 // bytes of one layer's cache
	bytes                   int64 // bytes of all memory except the weights
}

// hostRange is a part of SpacePick in host memory, to which kernels write over the bus. So neither copies nor
// kernels wait for one another.
type hostRange struct {
	offset int64
	to     cu.Ptr
}

// allocate allocates all memory. After an error the caller must free what was allocated.
func (m *memory) allocate(l *device.Layout, c *device.Commands) (err error) {
	if m.places, err = placeWeights(c.All()); err != nil {
		return err
	}
	if err := m.fits(l); err != nil {
		return err
	}
	sizes := l.Sizes()
	sizes[plan.SpaceWeight], sizes[plan.SpaceArgs], sizes[plan.SpaceKV] = m.places.bytes, int64(len(c.Constants)), 0
	sizes[plan.SpaceWanted] = rowBytes * int64(l.Batch+l.Width)
	for i, n := range sizes {
		if n == 0 {
			continue
		}
		if m.Spaces[i], err = cu.Alloc(n); err != nil {
			return fmt.Errorf("%d bytes for the %s: %w", n, plan.Space(i), err)
		}
		m.bytes += n
	}
	for i := range l.Layers {
		p, err := cu.Alloc(l.Cache)
		if err != nil {
			return fmt.Errorf("%d bytes for the %s of layer %d: %w", l.Cache, plan.SpaceKV, i, err)
		}
		m.Caches = append(m.Caches, p)
	}
	m.cache, m.Spaces[plan.SpaceRow] = l.Cache, m.Spaces[plan.SpaceWanted]+cu.Ptr(rowBytes*int64(l.Batch))
	m.bytes += l.Cache*int64(l.Layers) - m.places.bytes
	return nil
}

// fits fails if the memory is larger than the free device memory, before anything is allocated.
func (m *memory) fits(l *device.Layout) error {
	free, total, err := cu.MemoryInfo()
	if err != nil {
		return err
	}
	if need := m.places.bytes + l.Bytes(); uint64(need) > free {
		return fmt.Errorf("weights, caches and buffers need %d bytes; of the GPU's %d, %d are free. A smaller context needs less", need, total, free)
	}
	return nil
}

// address is the device address of a binding.
func (m *memory) address(b *device.Binding) cu.Ptr {
	at := m.At(b) + cu.Ptr(b.Offset)
	switch {
	case b.Space == plan.SpaceWeight:
		return at + cu.Ptr(m.places.offset[b.Weight])
	case b.Space == plan.SpacePick && b.Offset == m.picked.offset && m.picked.to != 0:
		return m.picked.to
	}
	return at
}

// fill uploads weights, constants and the rotary table, and clears the counters.
func (m *memory) fill(c *cu.Context, model *device.Model, l *device.Layout, constants []byte, progress func(done, total int64)) error {
	table := make([]float32, l.Rope/4)
	device.RopeTable(table, l.Freqs, model.Bundle.RopeMScale)
	pieces := m.places.pieces(model, m.Spaces[plan.SpaceWeight])
	pieces = append(pieces, cut(unsafe.Slice((*byte)(unsafe.Pointer(&table[0])), l.Rope), m.Spaces[plan.SpaceRope], rowLayout{})...)
	pieces = append(pieces, cut(constants, m.Spaces[plan.SpaceArgs], rowLayout{})...)
	pieces = append(pieces, cut(make([]byte, l.Counters), m.Spaces[plan.SpaceCounters], rowLayout{})...)
	var done, total int64
	for _, p := range pieces {
		total += int64(len(p.from))
	}
	return upload(c, pieces, func(bytes int) {
		done += int64(bytes)
		if progress != nil {
			progress(done, total)
		}
	})
}

// free frees all memory.
func (m *memory) free() (err error) {
	m.Spaces[plan.SpaceRow] = 0 // part of SpaceWanted's memory
	for _, p := range append(m.Spaces[:], m.Caches...) {
		err = errors.Join(err, p.Free())
	}
	return err
}
