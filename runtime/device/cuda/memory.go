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

// memory is everything that a runner has on the device.
type memory struct {
	places                              *weights
	weights                             cu.Ptr
	arena, rope, row, logits, constants cu.Ptr
	wanted                              cu.Ptr // the rows that are wanted, [MaxWanted]plan.Row; row is behind them
	tables                              cu.Ptr // block tables
	heads                               cu.Ptr // see plan.HeadsPage; 0: no sequence has them
	picks                               cu.Ptr // see plan.PickLayout; 0: the bundle has no kernels that pick
	picked                              hostRange
	counters                            cu.Ptr   // 0: no kernel has tickets
	caches                              []cu.Ptr // one per layer
	cache                               int64    // bytes of one
	bytes                               int64    // of all, without the weights
}

// hostRange is the part of the memory of picks that is the host's, where kernels write: no copy waits
// for them, and nothing waits for a copy.
type hostRange struct {
	offset int64
	to     cu.Ptr
}

// allocate reserves all memory. After an error, what there is must be freed.
func (m *memory) allocate(l *device.Layout, c *device.Commands) (err error) {
	if m.places, err = placeWeights(c.All()); err != nil {
		return err
	}
	if err := m.fits(l); err != nil {
		return err
	}
	var own int64
	for _, a := range []struct {
		what  string
		bytes int64
		to    *cu.Ptr
	}{
		{"the weights", m.places.bytes, &m.weights},
		{"the arena", l.Arena, &m.arena},
		{"the rotary table", l.Rope, &m.rope},
		{"the rows", rowBytes * int64(plan.MaxWanted+l.Width), &m.wanted},
		{"the logits", l.Logits, &m.logits},
		{"the picks", l.Pick, &m.picks},
		{"the expanded heads", l.Heads, &m.heads},
		{"the counters", l.Counters, &m.counters},
		{"the constants", int64(len(c.Constants)), &m.constants},
		{"the block tables", l.Tables, &m.tables},
	} {
		if a.bytes == 0 {
			continue
		}
		if *a.to, err = cu.Alloc(a.bytes); err != nil {
			return fmt.Errorf("%d bytes for %s: %w", a.bytes, a.what, err)
		}
		own += a.bytes
	}
	for i := range l.Layers {
		p, err := cu.Alloc(l.Cache)
		if err != nil {
			return fmt.Errorf("%d bytes for the KV cache of layer %d: %w", l.Cache, i, err)
		}
		m.caches = append(m.caches, p)
	}
	m.cache, m.row = l.Cache, m.wanted+cu.Ptr(rowBytes*plan.MaxWanted)
	m.bytes = own - m.places.bytes + l.Cache*int64(l.Layers)
	return nil
}

// fits refuses what the device has no room for, before anything is allocated.
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

// address is where a binding lies.
func (m *memory) address(b *device.Binding) cu.Ptr {
	switch b.Space {
	case plan.SpaceWeight:
		return m.weights + cu.Ptr(m.places.offset[b.Weight])
	case plan.SpaceArena:
		return m.arena + cu.Ptr(b.Offset)
	case plan.SpaceKV:
		return m.caches[b.Index]
	case plan.SpaceHeads:
		return m.heads
	case plan.SpaceRope:
		return m.rope
	case plan.SpaceRow:
		return m.row
	case plan.SpaceWanted:
		return m.wanted
	case plan.SpaceTables:
		return m.tables
	case plan.SpacePick:
		if b.Offset == m.picked.offset && m.picked.to != 0 {
			return m.picked.to
		}
		return m.picks + cu.Ptr(b.Offset)
	case plan.SpaceCounters:
		return m.counters + cu.Ptr(b.Offset)
	case plan.SpaceArgs:
		return m.constants + cu.Ptr(b.Offset)
	default:
		return m.logits
	}
}

// fill uploads weights, constants, the rotary table and the zeros that counters begin with.
func (m *memory) fill(c *cu.Context, model *device.Model, l *device.Layout, constants []byte, progress func(done, total int64)) error {
	table := make([]float32, l.Rope/4)
	device.RopeTable(table, l.Freqs, model.Bundle.RopeMScale)
	pieces := m.places.pieces(model, m.weights)
	pieces = append(pieces, cut(unsafe.Slice((*byte)(unsafe.Pointer(&table[0])), l.Rope), m.rope, rowLayout{})...)
	pieces = append(pieces, cut(constants, m.constants, rowLayout{})...)
	pieces = append(pieces, cut(make([]byte, l.Counters), m.counters, rowLayout{})...)
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

// free gives everything back.
func (m *memory) free() error {
	err := errors.Join(m.weights.Free(), m.arena.Free(), m.rope.Free(), m.wanted.Free(), m.tables.Free(), m.logits.Free(), m.picks.Free(), m.heads.Free(), m.counters.Free(), m.constants.Free())
	for _, p := range m.caches {
		err = errors.Join(err, p.Free())
	}
	return err
}
