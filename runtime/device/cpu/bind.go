package cpu

import (
	"fmt"
	"slices"

	"mla/runtime/device"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// binder views the memory of a command's bindings. Its methods check that the memory is as large as the
// part's CPU kernel needs. The first failure stays in err; values returned after it must not be used.
type binder struct {
	r       *runner
	model   *device.Model
	command *device.Command
	row     int // the row whose vectors are bound, in a kernel of several rows
	err     error
}

// fail records the first failure.
func (b *binder) fail(format string, args ...any) {
	if b.err == nil {
		b.err = fmt.Errorf(format, args...)
	}
}

// dims checks that dimensions are positive and so small that the product of two fits an int64.
func (b *binder) dims(dims ...int) {
	for _, n := range dims {
		if n < 1 || n > 1<<30 {
			b.fail("dimension %d", n)
		}
	}
}

// slot returns a slot and its binding, or nil after a failure.
func (b *binder) slot(i int, spaces ...plan.Space) (*plan.Slot, *device.Binding) {
	if b.err != nil {
		return nil, nil
	}
	slots := b.command.Kernel.Slots
	if i < 0 || i >= len(slots) {
		b.fail("slot %d of %d", i, len(slots))
		return nil, nil
	}
	if !slices.Contains(spaces, slots[i].Space) {
		b.fail("slot %s is in the %s; expected one of %v", slots[i].Name, slots[i].Space, spaces)
		return nil, nil
	}
	return &slots[i], &b.command.Bindings[i]
}

// bytes returns the memory of a slot that is not a weight. Where every row has memory of its own, it is that
// of b.row.
func (b *binder) bytes(slot *plan.Slot, at *device.Binding) []byte {
	mem := b.memory(at)
	if slot.Stride == 0 || b.err != nil {
		return mem
	}
	b.dims(slot.Stride)
	size := int64(4)
	switch {
	case slot.Elem == plan.ElemRoute:
		size = 8
	case slot.Elem != plan.ElemU32 && b.half(slot):
		size = 2
	}
	from := product(size, int64(slot.Stride), int64(b.row))
	if from > int64(len(mem)) {
		b.fail("slot %s: %d bytes have no row %d", slot.Name, len(mem), b.row)
		return nil
	}
	return mem[from:]
}

// memory returns the memory of all rows. Only bindings in the arena and in states are parts of a space.
func (b *binder) memory(at *device.Binding) []byte {
	mem := b.r.At(at)
	if at.Space == plan.SpaceArena || at.Space == plan.SpaceState {
		return mem[at.Offset : at.Offset+at.Bytes]
	}
	return mem
}

// numbers views a slot's memory as at least n numbers of its element type.
func (b *binder) numbers(slot *plan.Slot, at *device.Binding, n int64) numbers {
	if b.err != nil {
		return numbers{}
	}
	var v numbers
	mem := b.bytes(slot, at)
	if b.half(slot) {
		v.f16 = view[uint16](mem)
	} else {
		v.f32 = view[float32](mem)
	}
	if have := int64(max(len(v.f32), len(v.f16))); have < n {
		b.fail("slot %s: %d bytes at %d do not hold %d aligned elements", slot.Name, len(mem), at.Offset, n)
	}
	return v
}

// half says whether a slot holds halves.
func (b *binder) half(slot *plan.Slot) bool {
	elem := slot.Elem
	if elem == plan.ElemAct {
		elem = b.model.Bundle.Activations
	}
	switch {
	case elem == plan.ElemF16, elem == plan.ElemTyped && slot.Space == plan.SpaceKV && b.r.kv == quant.F16:
		return true
	case elem == plan.ElemF32, elem == plan.ElemTyped && slot.Space == plan.SpaceKV:
		return false
	}
	b.fail("slot %s: element type %d holds no numbers", slot.Name, slot.Elem)
	return false
}

// vector binds a vector of entries × n elements that a part reads or writes, one entry at a time.
func (b *binder) vector(v plan.Vec, entries, n int) vec {
	in := b.entries(v, entries, n)
	if b.err == nil {
		b.scratch(n)
	}
	return in
}

// entries binds a vector of entries × n elements.
func (b *binder) entries(v plan.Vec, entries, n int) vec {
	b.dims(entries, n)
	slot, at := b.slot(v.Slot, plan.SpaceArena, plan.SpaceLogits)
	if slot == nil {
		return vec{}
	}
	if v.Offset < 0 || v.Stride < 0 {
		b.fail("slot %s: offset %d, stride %d", slot.Name, v.Offset, v.Stride)
		return vec{}
	}
	end := sum(int64(v.Offset), product(int64(entries-1), int64(v.Stride)), int64(n))
	mem := b.numbers(slot, at, end)
	if b.err != nil {
		return vec{}
	}
	if mem.half() {
		mem.f16 = mem.f16[v.Offset:]
	} else {
		mem.f32 = mem.f32[v.Offset:]
	}
	return vec{mem, v.Stride}
}

// add binds the optional residual of an output, which has the output's layout in another slot.
func (b *binder) add(slot int, out plan.Vec, entries, n int) *vec {
	if slot < 0 {
		return nil
	}
	out.Slot = slot
	v := b.vector(out, entries, n)
	return &v
}

// floats binds n consecutive float32 numbers in the arena.
func (b *binder) floats(slot, n int) []float32 {
	v := b.entries(plan.Vec{Slot: slot}, 1, n)
	if b.err != nil {
		return nil
	}
	if v.half() {
		b.fail("slot %s holds halves; expected float32", b.command.Kernel.Slots[slot].Name)
		return nil
	}
	return v.f32[:n]
}

// matrix binds entries × rows × cols of a weight.
func (b *binder) matrix(slotIndex, entries, rows, cols int) weight {
	b.dims(entries, rows, cols)
	slot, at := b.slot(slotIndex, plan.SpaceWeight)
	if slot == nil {
		return weight{}
	}
	w := at.Weight
	format, ok := quant.Lookup(w.Type)
	if !ok || !fits(slot.Elem, w.Type) {
		b.fail("tensor %s: %s does not fit slot %s", w.Tensor, w.Type, slot.Name)
		return weight{}
	}
	rowBytes, err := format.RowBytes(cols)
	if err != nil {
		b.fail("tensor %s: %w", w.Tensor, err)
		return weight{}
	}
	size := product(int64(rows), int64(rowBytes))
	if entries > 1 && w.BatchStride < 0 {
		b.fail("tensor %s: entries %d bytes apart", w.Tensor, w.BatchStride)
		return weight{}
	}
	if entries > 1 {
		size = sum(size, product(int64(entries-1), w.BatchStride))
	}
	if size > w.Bytes {
		b.fail("tensor %s has %d bytes; %d × %d × %d of %s need %d", w.Tensor, w.Bytes, cols, rows, entries, w.Type, size)
		return weight{}
	}
	data := b.model.Regions[w.Region][w.Offset : w.Offset+w.Bytes]
	return weight{data: data, format: format, rowBytes: rowBytes, stride: int(w.BatchStride), batch: entries}
}

// fits says whether a slot of a fixed element type can hold a weight of type t.
func fits(e plan.Elem, t quant.Type) bool {
	return e == plan.ElemTyped || e == plan.ElemF32 && t == quant.F32 || e == plan.ElemF16 && t == quant.F16
}

// weights copies a weight vector (a norm weight, a bias) to memory of its own: in a file it may be unaligned,
// and it is small.
func (b *binder) weights(slot, n int) []float32 {
	w := b.matrix(slot, 1, 1, n)
	if b.err != nil {
		return nil
	}
	if v := b.r.vectors[&w.data[0]]; len(v) == n {
		return v
	}
	v := floats(n)
	w.format.Dequantize(v, w.data)
	b.r.bytes += 4 * int64(n)
	b.r.vectors[&w.data[0]] = v
	return v
}

// lists binds the slots of a plan.Grouping.
func (b *binder) lists(g *plan.Grouping) (starts, members []uint32) {
	width := max(b.command.Kernel.Width, 1)
	b.dims(g.Experts, g.K, width)
	return records[uint32](b, g.Starts, g.Experts+1), records[uint32](b, g.Members, width*g.K)
}

// routing binds the selected experts of a token.
func (b *binder) routing(slot, k int) []plan.Routing {
	b.dims(k)
	return records[plan.Routing](b, slot, k)
}

// records binds n records of type T in the arena.
func records[T any](b *binder, slotIndex, n int) []T {
	slot, at := b.slot(slotIndex, plan.SpaceArena)
	if slot == nil {
		return nil
	}
	v := view[T](b.bytes(slot, at))
	if len(v) < n {
		b.fail("slot %s: %d bytes at %d do not hold %d aligned elements", slot.Name, at.Bytes, at.Offset, n)
		return nil
	}
	return v[:n]
}

// cache binds a latent cache whose rows are dim wide.
func (b *binder) cache(p plan.Paged, dim int) paged {
	b.slot(p.Tables, plan.SpaceTables)
	slot, at := b.slot(p.Slot, plan.SpaceKV)
	if slot == nil {
		return paged{}
	}
	if have := b.model.Bundle.Model.CacheDim(); dim != have {
		b.fail("slot %s: cache rows of %d; expected %d", slot.Name, dim, have)
		return paged{}
	}
	c := paged{planes: b.r.planes, tables: b.r.tables.Entries, maxPages: p.MaxPages, dim: dim}
	if b.r.kv == quant.Q8_0 {
		c.pages = b.bytes(slot, at)
	} else {
		c.numbers = b.numbers(slot, at, product(int64(b.r.pages), plan.PageRows, int64(dim)))
	}
	return c
}

// scratch asks for n floats of scratch memory in every worker; see worker.temp.
func (b *binder) scratch(n int) { b.r.need.temp = max(b.r.need.temp, n) }

// id returns a new number for an input that workers keep, by which they recognise it (key.id).
func (b *binder) id() int {
	b.r.prepared++
	return b.r.prepared
}
