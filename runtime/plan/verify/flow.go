package verify

import (
	"fmt"
	"slices"

	"mla/runtime/plan"
)

// flow follows a sequence: which memory is read and written between two barriers, and where the arena holds
// indices.
type flow struct {
	reads, writes []span
	indices       []index
	before, now   []index // the indices written between the last two barriers, and since the last one
}

// span is a byte range of a space, a whole space, or one layer's cache or state.
type span struct {
	space      plan.Space
	layer      int
	start, end int64
}

func (a span) overlaps(b span) bool {
	return a.space == b.space && a.layer == b.layer && a.start < b.end && b.start < a.end
}

// spanOf is the memory of an operand.
func spanOf(op *plan.Operand) span {
	switch op.Space {
	case plan.SpaceArena, plan.SpacePick, plan.SpaceCounters:
		return span{op.Space, 0, op.Offset, op.Offset + op.Bytes}
	case plan.SpaceKV, plan.SpaceState:
		return span{op.Space, op.Index, 0, 1}
	}
	return span{op.Space, 0, 0, 1}
}

// index is a range of the arena with selections that a kernel of several rows has written: experts (a
// routing), or a list of plan.Grouping.
type index struct {
	span
	role       plan.Role // RoleRouting, RoleStarts or RoleMembers
	k, experts int
	width      int
	stride     int  // distance between two rows, as in plan.Slot
	wanted     bool // of the wanted rows only
}

// step checks a dispatch after the earlier ones. kernels[0] is the dispatch's kernel, and the others replace
// it on some devices. All have the same slots, whose marks were checked before.
func (f *flow) step(kernels []*plan.Kernel, d *plan.Dispatch) error {
	k := kernels[0]
	var reads, writes []span
	for i := range k.Slots {
		if k.Slots[i].Write {
			writes = append(writes, spanOf(&d.Operands[i]))
		} else {
			reads = append(reads, spanOf(&d.Operands[i]))
		}
	}
	if within := slices.ContainsFunc(writes, func(w span) bool { return slices.ContainsFunc(reads, w.overlaps) }); within {
		return fmt.Errorf("reads memory through one slot that it writes through another")
	}
	for i, w := range writes {
		if slices.ContainsFunc(writes[:i], w.overlaps) {
			return fmt.Errorf("writes the same memory through two slots")
		}
	}
	if d.Barrier {
		f.reads, f.writes = nil, nil
		f.before, f.now = f.now, nil
	} else if overlap(f.writes, reads) || overlap(f.writes, writes) || overlap(f.reads, writes) {
		return fmt.Errorf("does not wait for an earlier dispatch whose memory it uses")
	}
	f.reads, f.writes = append(f.reads, reads...), append(f.writes, writes...)
	return f.indexed(kernels, d, writes)
}

func overlap(a, b []span) bool {
	return slices.ContainsFunc(a, func(x span) bool { return slices.ContainsFunc(b, x.overlaps) })
}

// indexed checks that the indices that a dispatch reads were written as such, and records those that it
// writes. It follows the parts, not the slots' marks.
func (f *flow) indexed(kernels []*plan.Kernel, d *plan.Dispatch, writes []span) error {
	var made []index
	k, early := kernels[0], slices.ContainsFunc(kernels, readsEarly)
	for _, p := range k.Parts {
		for _, use := range indexUses(p) {
			x, slot := use.index, &k.Slots[use.slot]
			x.span, x.width, x.stride, x.wanted = spanOf(&d.Operands[use.slot]), max(k.Width, 1), slot.Stride, wanted(k)
			if use.write {
				made = append(made, x)
			} else if !slices.Contains(f.indices, x) {
				return fmt.Errorf("slot %s is read as indices, which no dispatch before has left there", slot.Name)
			} else if early && slices.Contains(f.before, x) {
				return fmt.Errorf("slot %s is read while the dispatch before may still write it", slot.Name)
			}
		}
	}
	f.indices = slices.DeleteFunc(f.indices, func(x index) bool { return slices.ContainsFunc(writes, x.overlaps) })
	f.indices, f.now = append(f.indices, made...), append(f.now, made...)
	return nil
}

// readsEarly says whether a kernel reads indices before the previous dispatch has ended.
func readsEarly(k *plan.Kernel) bool {
	return slices.ContainsFunc(k.Parts, func(p plan.Part) bool {
		e, ok := p.(*plan.Experts)
		return ok && e.Early()
	})
}

// indexUse is a slot with indices.
type indexUse struct {
	slot  int
	write bool
	index
}

// indexUses lists the slots of a part that hold indices, with their contents.
func indexUses(p plan.Part) (list []indexUse) {
	for _, u := range p.Uses() {
		switch u.As {
		case plan.RoleRouting: // a reader does not know the number of experts
			list = append(list, indexUse{u.Slot, u.Write, index{role: u.As, k: u.Select}})
		case plan.RoleStarts, plan.RoleMembers:
			list = append(list, indexUse{u.Slot, u.Write, index{role: u.As, k: u.Select, experts: u.Of}})
		}
	}
	return list
}
