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

// wantedBytes is the size of the rows that are wanted, which lie in front of all. It is a
// multiple of what Metal wants of the offset of constants.
const wantedBytes = rowBytes * plan.MaxWanted

// memory is the GPU's view of everything that kernels touch.
type memory struct {
	weights  []mtl.Buffer // windows, then copies
	places   map[*device.Weight]place
	caches   []mtl.Buffer // one per layer, [pages][PageRows][CacheDim]
	arena    mtl.Buffer
	heads    mtl.Buffer           // see plan.HeadsPage; nil: no sequence has them
	rope     mtl.Buffer           // see device.RopeTable
	args     mtl.Buffer           // constants of all dispatches; nil if there are none
	logits   mtl.Buffer           // [VocabSize] float32
	picks    mtl.Buffer           // see plan.PickLayout; nil without kernels that pick
	counters mtl.Buffer           // tickets of persistent threadgroups; nil without them
	tables   mtl.Buffer           // block tables
	rows     [ring + 1]mtl.Buffer // those that are wanted, then all; the last are those of slices
}

// allocator makes buffers until one fails.
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

// shared makes a buffer that holds a copy of data.
func (a *allocator) shared(label string, data []byte) mtl.Buffer {
	b := a.buffer(label, int64(len(data)), mtl.StorageShared)
	if a.err == nil {
		copy(b.Bytes(), data)
	}
	return b
}

// window makes a buffer of mapped memory where it is.
func (a *allocator) window(m *device.Model, i int, w window) (b mtl.Buffer) {
	if a.err == nil {
		start := unsafe.Pointer(&m.Regions[w.region][w.start])
		b, a.err = a.gpu.NewBufferNoCopy(fmt.Sprintf("weights %d", i), start, uint64(w.length))
	}
	return b
}

// allocate makes and fills all memory. What was made before a failure is in the
// result.
func allocate(gpu mtl.Device, m *device.Model, l *layout) (*memory, error) {
	a := &allocator{gpu: gpu}
	mem := &memory{places: l.places}
	for i, w := range l.windows {
		mem.weights = append(mem.weights, a.window(m, i, w))
	}
	for _, t := range l.copies {
		mem.weights = append(mem.weights, a.shared(t.Tensor, m.Regions[t.Region][t.Offset:t.Offset+t.Bytes]))
	}
	for i := range l.Layers {
		mem.caches = append(mem.caches, a.buffer(fmt.Sprintf("KV cache %d", i), l.Cache, mtl.StorageShared)) // the host copies rows
	}
	mem.arena = a.buffer("arena", l.Arena, arenaStorage(m))
	if l.Heads > 0 {
		mem.heads = a.buffer("heads", l.Heads, mtl.StoragePrivate)
	}
	mem.logits = a.buffer("logits", l.Logits, mtl.StorageShared)
	mem.rope = a.buffer("rotary table", l.Rope, mtl.StorageShared)
	if len(l.constants) > 0 {
		mem.args = a.shared("constants", l.constants)
	}
	if l.Pick > 0 {
		mem.picks = a.buffer("picks", l.Pick, mtl.StorageShared)
	}
	if l.Counters > 0 { // their zeros are written, whatever Metal says of new memory
		mem.counters = a.shared("counters", make([]byte, l.Counters))
	}
	mem.tables = a.buffer("block tables", l.tables(), mtl.StorageShared)
	for i := range mem.rows {
		mem.rows[i] = a.buffer(fmt.Sprintf("rows %d", i), wantedBytes+rowBytes*int64(l.Width), mtl.StorageShared)
	}
	if a.err == nil {
		device.RopeTable(floats(mem.rope), l.Freqs, m.Bundle.RopeMScale)
	}
	return mem, a.err
}

// floats views a shared buffer.
func floats(b mtl.Buffer) []float32 {
	bytes := b.Bytes()
	return unsafe.Slice((*float32)(unsafe.Pointer(&bytes[0])), len(bytes)/4)
}

// at is the buffer that a binding refers to, for a slot of the ring, and the offset in
// it, which is below 4 GiB.
func (m *memory) at(b *device.Binding, slot int) (mtl.Buffer, uint64) {
	switch b.Space {
	case plan.SpaceWeight:
		p := m.places[b.Weight]
		return m.weights[p.buffer], p.offset
	case plan.SpaceKV:
		return m.caches[b.Index], 0
	case plan.SpaceArena:
		return m.arena, uint64(b.Offset)
	case plan.SpaceHeads:
		return m.heads, 0
	case plan.SpaceRope:
		return m.rope, 0
	case plan.SpaceArgs:
		return m.args, uint64(b.Offset)
	case plan.SpacePick:
		return m.picks, uint64(b.Offset)
	case plan.SpaceCounters:
		return m.counters, uint64(b.Offset)
	case plan.SpaceRow:
		return m.rows[slot], uint64(wantedBytes)
	case plan.SpaceWanted:
		return m.rows[slot], 0
	case plan.SpaceTables:
		return m.tables, 0
	default: // a command has no other spaces
		return m.logits, 0
	}
}

// constant lists the buffers that kernels only read, without the rows.
func (m *memory) constant() []mtl.Buffer {
	list := append([]mtl.Buffer{m.rope, m.tables}, m.weights...)
	if !m.args.Nil() {
		list = append(list, m.args)
	}
	return list
}

// mutable lists the buffers that kernels write.
func (m *memory) mutable() []mtl.Buffer {
	list := append([]mtl.Buffer{m.arena, m.logits}, m.caches...)
	if !m.heads.Nil() {
		list = append(list, m.heads)
	}
	if !m.picks.Nil() {
		list = append(list, m.picks)
	}
	if !m.counters.Nil() {
		list = append(list, m.counters)
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
