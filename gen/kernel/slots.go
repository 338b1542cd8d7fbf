package kernel

import (
	"fmt"
	"strings"

	"mla/gen/ir"
	"mla/gen/target"
	"mla/gen/weights"
	"mla/runtime/plan"
)

// builder collects the slots and operands of one kernel.
type builder struct {
	p        *ir.Program
	uses     *ir.Uses
	shape    target.Shape
	matrices bool // the kernel multiplies in simdgroup matrices
	tokens   int  // rows that the kernel's mat-vecs take at a time; 0: one
	layer    int
	head     bool // the kernel is part of the head, so its rows are the wanted ones
	k        plan.Kernel
	operands []plan.Operand
	slots    map[*ir.Value]int // activations and caches
	byWeight map[tensor]int    // weights
	row      int               // slot of the rows, -1: none yet
	rope     int               // slot of the rope table, -1: none yet
	tables   int               // slot of the block tables, -1: none yet
	maxPages int               // entries of a block table
	batched  []int             // slots of weights with a batch, see args
}

// tensor names a tensor: a row of the weight table, and a layer.
type tensor struct{ row, layer int }

// add appends a slot and its operand, and returns the slot's index.
func (b *builder) add(s plan.Slot, o plan.Operand) int {
	s.Name = b.unique(s.Name)
	o.Space = s.Space
	b.k.Slots = append(b.k.Slots, s)
	b.operands = append(b.operands, o)
	return len(b.k.Slots) - 1
}

// unique makes name an identifier that no other slot has.
func (b *builder) unique(name string) string {
	name = strings.NewReplacer(".", "_", "mlp_", "", "self_attn_", "").Replace(name)
	base := name
	for n := 2; b.taken(name); n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	return name
}

func (b *builder) taken(name string) bool {
	for _, s := range b.k.Slots {
		if s.Name == name {
			return true
		}
	}
	return false
}

// weight returns the slot of a tensor. The type of a matrix is left to the kernel's variants.
func (b *builder) weight(v *ir.Value) int {
	row := &b.p.Weights[v.Row]
	role := row.Role[strings.LastIndexByte(row.Role, '.')+1:]
	if strings.Contains(row.Role, "experts.") {
		role = row.Role[strings.Index(row.Role, "."):][1:] // tells experts from shared_experts
	}
	if row.Role == weights.SharedHead {
		role = weights.LMHead // so that the multi-token-prediction layer shares the kernel of the model's head
	}
	return b.namedWeight(v, "w_"+role)
}

// namedWeight is weight with the name that a new slot gets.
func (b *builder) namedWeight(v *ir.Value, name string) int {
	row := &b.p.Weights[v.Row]
	t := tensor{v.Row, v.Layer}
	if i, ok := b.byWeight[t]; ok {
		return i
	}
	elem := plan.ElemTyped
	if row.Vector {
		elem = plan.ElemF32
	}
	o := plan.Operand{Index: v.Row}
	if row.First >= 0 {
		o.Ahead = v.Layer - b.layer
	}
	i := b.add(plan.Slot{Name: name, Space: plan.SpaceWeight, Elem: elem}, o)
	b.byWeight[t] = i
	if row.Batch > 1 {
		b.batched = append(b.batched, i)
	}
	return i
}

// in returns the slot of a value that the kernel reads.
func (b *builder) in(v *ir.Value) int { return b.value(v, false) }

// out returns the slot of a value that the kernel writes.
func (b *builder) out(v *ir.Value) int { return b.value(v, true) }

func (b *builder) value(v *ir.Value, write bool) int {
	if i, ok := b.slots[v]; ok {
		b.k.Slots[i].Write = b.k.Slots[i].Write || write
		return i
	}
	s := plan.Slot{Name: v.Name, Space: plan.SpaceArena, Elem: elems[v.Elem], Write: write, Stride: b.p.Stride(v)}
	o := plan.Operand{Offset: v.Offset, Bytes: b.p.Bytes(v)}
	switch {
	case v.Class == ir.Cache:
		s.Name, s.Space, s.Elem = "cache", plan.SpaceKV, plan.ElemTyped
		o = plan.Operand{Index: v.Layer}
	case v.Class == ir.State:
		s.Name, s.Space = "state", plan.SpaceState
		o = plan.Operand{Index: v.Layer}
	case v.Output:
		s.Space, s.Elem, o = plan.SpaceLogits, plan.ElemF32, plan.Operand{}
	}
	i := b.add(s, o)
	b.slots[v] = i
	return i
}

var elems = [...]plan.Elem{ir.F32: plan.ElemF32, ir.Half: plan.ElemAct, ir.Route: plan.ElemRoute, ir.Index: plan.ElemU32}

// tickets returns the slot of the counter from which persistent threadgroups take work.
func (b *builder) tickets(v *ir.Value) int {
	s := plan.Slot{Name: "tickets", Space: plan.SpaceCounters, Elem: plan.ElemCounter, Write: true}
	return b.add(s, plan.Operand{Offset: v.Offset, Bytes: int64(4 * v.Len)})
}

// needRow gives the kernel a slot with its rows.
func (b *builder) needRow() {
	if b.row >= 0 {
		return
	}
	slot := plan.Slot{Name: "current", Space: plan.SpaceRow, Elem: plan.ElemRow}
	if b.head && b.p.Width > 1 {
		slot.Name, slot.Space = "wanted", plan.SpaceWanted
	}
	b.row = b.add(slot, plan.Operand{})
}

// paged returns the latent cache in a slot, with its block tables.
func (b *builder) paged(cache int) plan.Paged {
	b.needRow()
	if b.tables < 0 {
		b.tables = b.add(plan.Slot{Name: "tables", Space: plan.SpaceTables, Elem: plan.ElemU32}, plan.Operand{})
	}
	return plan.Paged{Slot: cache, Tables: b.tables, MaxPages: b.maxPages}
}

// ropeTable returns the slot of the cosines and sines.
func (b *builder) ropeTable() int {
	b.needRow()
	if b.rope < 0 {
		b.rope = b.add(plan.Slot{Name: "rope", Space: plan.SpaceRope, Elem: plan.ElemF32}, plan.Operand{})
	}
	return b.rope
}

// args adds the slot of constants that are known only when a model is loaded: the batch strides of heads and
// experts, which the file's layout decides, and the number of splits, if the GPU decides it.
func (b *builder) args() {
	b.k.Args = b.batched
	if n := b.k.Constants(); n > 0 {
		b.add(plan.Slot{Name: "args", Space: plan.SpaceArgs, Elem: plan.ElemArgs}, plan.Operand{Bytes: int64(8 * n)})
	}
}
