package verify

import (
	"fmt"
	"slices"

	"mla/runtime/plan"
)

// flow follows a sequence: what is read and written between two barriers, and where the
// arena holds numbers that are used as indices.
type flow struct {
	reads, writes []span
	indices       []index
	before, now   []index // of them, those that the dispatches between the last two barriers have left, and those since
}

// span is a byte range of a space, or all of it, or of a layer's cache or state.
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

// index is a range of the arena that holds what a kernel of a given number of rows has selected:
// experts (the whole routing), or a list of plan.Grouping.
type index struct {
	span
	role       plan.Role // RoleRouting, RoleStarts or RoleMembers
	k, experts int
	width      int
	stride     int  // from a row's to the next one's, as in plan.Slot
	wanted     bool // of the rows that are wanted alone
}

// step checks a dispatch after the earlier ones. Its kernel is the first of those that devices run for it; all have the
// same slots, and package verify has held their marks to what their parts do.
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

// indexed wants the indices that a dispatch reads to be there as they were written, and
// notes those that it leaves. What counts is what parts write, since a mark of a slot makes no index.
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

// readsEarly says that a kernel reads indices before the dispatch before has ended.
func readsEarly(k *plan.Kernel) bool {
	return slices.ContainsFunc(k.Parts, func(p plan.Part) bool {
		e, ok := p.(*plan.Experts)
		return ok && e.Early()
	})
}

// indexUse is a slot that holds indices.
type indexUse struct {
	slot  int
	write bool
	index
}

// indexUses lists the slots of a part that hold indices, with what they hold.
func indexUses(p plan.Part) (list []indexUse) {
	for _, u := range p.Uses() {
		switch u.As {
		case plan.RoleRouting: // who reads it does not know of how many it is
			list = append(list, indexUse{u.Slot, u.Write, index{role: u.As, k: u.Select}})
		case plan.RoleStarts, plan.RoleMembers:
			list = append(list, indexUse{u.Slot, u.Write, index{role: u.As, k: u.Select, experts: u.Of}})
		}
	}
	return list
}
