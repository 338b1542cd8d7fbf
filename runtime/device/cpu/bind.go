package cpu

import (
	"fmt"

	"mla/runtime/device"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// binder turns the slots of one dispatch into views of memory. Its methods
// check everything that a part's twin later takes for granted; the first
// failure sticks in err and the values returned from then on are unusable.
type binder struct {
	r      *runner
	model  *device.Model
	d      *plan.Dispatch
	kernel *plan.Kernel
	row    int // whose vectors slots stand for, in a kernel of several rows
	err    error
}

// fail records the first failure.
func (b *binder) fail(format string, args ...any) {
	if b.err == nil {
		b.err = fmt.Errorf(format, args...)
	}
}

// dims checks that dimensions lie in a range in which int64 products of two
// cannot overflow.
func (b *binder) dims(dims ...int) {
	for _, n := range dims {
		if n < 1 || n > 1<<30 {
			b.fail("dimension %d", n)
		}
	}
}

// slot returns a slot and its operand, or nil after a failure.
func (b *binder) slot(i int, spaces ...plan.Space) (*plan.Slot, *plan.Operand) {
	if b.err != nil {
		return nil, nil
	}
	if i < 0 || i >= len(b.kernel.Slots) {
		b.fail("slot %d of %d", i, len(b.kernel.Slots))
		return nil, nil
	}
	slot, op := &b.kernel.Slots[i], &b.d.Operands[i]
	for _, s := range spaces {
		if slot.Space == s {
			return slot, op
		}
	}
	b.fail("slot %s is in space %d; expected one of %d", slot.Name, slot.Space, spaces)
	return nil, nil
}

// writable checks that a slot which a part writes says so.
func (b *binder) writable(slot *plan.Slot) {
	if !slot.Write {
		b.fail("slot %s is written but not marked so", slot.Name)
	}
}

// bytes returns the memory of a slot outside the weights: of the binder's row where every
// row has its own.
func (b *binder) bytes(slot *plan.Slot, op *plan.Operand) []byte {
	mem := b.memory(slot, op)
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

// memory returns that of all rows.
func (b *binder) memory(slot *plan.Slot, op *plan.Operand) []byte {
	switch slot.Space {
	case plan.SpaceArena:
		size := int64(len(b.r.arena))
		if op.Offset < 0 || op.Bytes < 0 || op.Offset > size || op.Bytes > size-op.Offset {
			b.fail("slot %s: %d bytes at %d do not fit the arena of %d", slot.Name, op.Bytes, op.Offset, size)
			return nil
		}
		return b.r.arena[op.Offset : op.Offset+op.Bytes]
	case plan.SpaceKV:
		if op.Index < 0 || op.Index >= len(b.r.caches) {
			b.fail("slot %s: cache %d of %d", slot.Name, op.Index, len(b.r.caches))
			return nil
		}
		return b.r.caches[op.Index]
	case plan.SpaceHeads:
		return b.r.heads
	case plan.SpaceRope:
		return bytesOf(b.r.rope)
	case plan.SpaceLogits:
		return bytesOf(b.r.logits)
	}
	b.fail("slot %s: space %d holds no numbers", slot.Name, slot.Space)
	return nil
}

// numbers views a slot's memory as at least n numbers of its element type.
func (b *binder) numbers(slot *plan.Slot, op *plan.Operand, n int64) numbers {
	if b.err != nil {
		return numbers{}
	}
	var v numbers
	mem := b.bytes(slot, op)
	if b.half(slot) {
		v.f16 = view[uint16](mem)
	} else {
		v.f32 = view[float32](mem)
	}
	if have := int64(max(len(v.f32), len(v.f16))); have < n {
		b.fail("slot %s: %d bytes at %d do not hold %d aligned elements", slot.Name, len(mem), op.Offset, n)
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

// input binds a vector that a part reads, at most n elements of an entry at a time: entries × n.
func (b *binder) input(v plan.Vec, entries, n int) vec {
	in := b.entries(v, entries, n)
	if b.err == nil {
		b.scratch(n)
	}
	return in
}

// entries binds entries × n elements.
func (b *binder) entries(v plan.Vec, entries, n int) vec {
	b.dims(entries, n)
	slot, op := b.slot(v.Slot, plan.SpaceArena, plan.SpaceLogits)
	if slot == nil {
		return vec{}
	}
	if v.Offset < 0 || v.Stride < 0 {
		b.fail("slot %s: offset %d, stride %d", slot.Name, v.Offset, v.Stride)
		return vec{}
	}
	end := sum(int64(v.Offset), product(int64(entries-1), int64(v.Stride)), int64(n))
	mem := b.numbers(slot, op, end)
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

// output binds a vector that a part writes.
func (b *binder) output(v plan.Vec, entries, n int) vec {
	out := b.input(v, entries, n)
	if b.err == nil {
		b.writable(&b.kernel.Slots[v.Slot])
	}
	return out
}

// add binds the optional residual of an output: the same place in another slot.
func (b *binder) add(slot int, out plan.Vec, entries, n int) *vec {
	if slot < 0 {
		return nil
	}
	out.Slot = slot
	v := b.input(out, entries, n)
	return &v
}

// floats binds n consecutive float32 numbers in the arena.
func (b *binder) floats(slot, n int) []float32 {
	v := b.entries(plan.Vec{Slot: slot}, 1, n)
	if b.err != nil {
		return nil
	}
	if v.half() {
		b.fail("slot %s holds halves; expected float32", b.kernel.Slots[slot].Name)
		return nil
	}
	return v.f32[:n]
}

// writableFloats is floats for an output.
func (b *binder) writableFloats(slot, n int) []float32 {
	v := b.floats(slot, n)
	if b.err == nil {
		b.writable(&b.kernel.Slots[slot])
	}
	return v
}

// matrix binds entries × rows × cols of a weight.
func (b *binder) matrix(slotIndex, entries, rows, cols int) weight {
	b.dims(entries, rows, cols)
	slot, op := b.slot(slotIndex, plan.SpaceWeight)
	if slot == nil {
		return weight{}
	}
	w, err := b.model.Lookup(op.Index, b.d.LayerOf(slotIndex))
	if err != nil {
		b.fail("slot %s: %w", slot.Name, err)
		return weight{}
	}
	if row := &b.model.Bundle.Weights[op.Index]; row.Cols != cols || row.Rows != rows || max(row.Batch, 1) < entries {
		b.fail("slot %s: %s is %d × %d × %d; expected %d × %d × %d", slot.Name, w.Tensor, row.Cols, row.Rows, row.Batch, cols, rows, entries)
		return weight{}
	}
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

// vector reads a weight vector (a norm weight, a bias) into memory of its own:
// a file may hold it unaligned, and it is small.
func (b *binder) vector(slot, n int) []float32 {
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

// lists binds what a GroupExperts lists; see plan.Grouping.
func (b *binder) lists(g *plan.Grouping, write bool) (starts, members []uint32) {
	width := max(b.kernel.Width, 1)
	b.dims(g.Experts, g.K, width)
	return b.indices(g.Starts, g.Experts+1, write), b.indices(g.Members, width*g.K, write)
}

// indices binds n uint32 in the arena.
func (b *binder) indices(slotIndex, n int, write bool) []uint32 {
	slot, op := b.slot(slotIndex, plan.SpaceArena)
	if slot == nil {
		return nil
	}
	if slot.Elem != plan.ElemU32 {
		b.fail("slot %s: element type %d; expected indices", slot.Name, slot.Elem)
		return nil
	}
	if write {
		b.writable(slot)
	}
	v := view[uint32](b.bytes(slot, op))
	if len(v) < n {
		b.fail("slot %s: %d bytes at %d do not hold %d aligned indices", slot.Name, op.Bytes, op.Offset, n)
		return nil
	}
	return v[:n]
}

// routing binds the selected experts of a token.
func (b *binder) routing(slotIndex, k int, write bool) []plan.Routing {
	b.dims(k)
	slot, op := b.slot(slotIndex, plan.SpaceArena)
	if slot == nil {
		return nil
	}
	if slot.Elem != plan.ElemRoute {
		b.fail("slot %s: element type %d; expected routing", slot.Name, slot.Elem)
		return nil
	}
	if write {
		b.writable(slot)
	}
	v := view[plan.Routing](b.bytes(slot, op))
	if len(v) < k {
		b.fail("slot %s: %d bytes at %d do not hold %d aligned routings", slot.Name, op.Bytes, op.Offset, k)
		return nil
	}
	return v[:k]
}

// cache binds a latent cache whose rows are dim wide.
func (b *binder) cache(p plan.Paged, dim int, write bool) paged {
	b.slot(p.Tables, plan.SpaceTables)
	slot, op := b.slot(p.Slot, plan.SpaceKV)
	if slot == nil {
		return paged{}
	}
	if have := b.model.Bundle.Model.CacheDim(); dim != have {
		b.fail("slot %s: cache rows of %d; expected %d", slot.Name, dim, have)
		return paged{}
	}
	if have := b.model.Bundle.Model.MaxPages(); p.MaxPages != have {
		b.fail("slot %s: block tables of %d entries; expected %d", slot.Name, p.MaxPages, have)
		return paged{}
	}
	if write {
		b.writable(slot)
	}
	c := paged{planes: b.r.planes, tables: b.r.tables.Entries, maxPages: p.MaxPages, dim: dim}
	if b.r.kv == quant.Q8_0 {
		c.pages = b.bytes(slot, op)
	} else {
		c.numbers = b.numbers(slot, op, product(int64(b.r.pages), plan.PageRows, int64(dim)))
	}
	return c
}

// scratch asks for room for n float32 in every worker; see worker.temp.
func (b *binder) scratch(n int) { b.r.need.temp = max(b.r.need.temp, n) }

// id numbers what workers keep between groups, so that they can tell whose it is.
func (b *binder) id() int {
	b.r.prepared++
	return b.r.prepared
}
