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

// span is a byte range of a space, or all of it, or of a layer's cache.
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
	case plan.SpaceArena, plan.SpaceSample, plan.SpacePick, plan.SpaceCounters:
		return span{op.Space, 0, op.Offset, op.Offset + op.Bytes}
	case plan.SpaceKV:
		return span{op.Space, op.Index, 0, 1}
	}
	return span{op.Space, 0, 0, 1}
}

// index is a range of the arena that holds what a kernel of so many rows has selected:
// experts (the whole routing), or a list of plan.Grouping.
type index struct {
	span
	role       plan.Role // RoleRouting, RoleStarts or RoleMembers
	k, experts int
	width      int
	wanted     bool // of the rows that are wanted alone
}

// step checks a dispatch behind those before it.
func (f *flow) step(k *plan.Kernel, d *plan.Dispatch) error {
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
	return f.indexed(k, d, writes)
}

func overlap(a, b []span) bool {
	return slices.ContainsFunc(a, func(x span) bool { return slices.ContainsFunc(b, x.overlaps) })
}

// indexed wants the indices that a dispatch reads to be there as they were written, and
// notes those that it leaves.
func (f *flow) indexed(k *plan.Kernel, d *plan.Dispatch, writes []span) error {
	var made []index
	for _, p := range k.AllParts() {
		for _, use := range indexUses(p) {
			x := use.index
			x.span, x.width, x.wanted = spanOf(&d.Operands[use.slot]), max(k.Width, 1), wanted(k)
			if k.Slots[use.slot].Write {
				made = append(made, x)
			} else if !slices.Contains(f.indices, x) {
				return fmt.Errorf("slot %s is read as indices, which no dispatch before has left there", k.Slots[use.slot].Name)
			} else if e, ok := p.(*plan.Experts); ok && e.Early() && slices.Contains(f.before, x) {
				return fmt.Errorf("slot %s is read while the dispatch before may still write it", k.Slots[use.slot].Name)
			}
		}
	}
	f.indices = slices.DeleteFunc(f.indices, func(x index) bool { return slices.ContainsFunc(writes, x.overlaps) })
	f.indices, f.now = append(f.indices, made...), append(f.now, made...)
	return nil
}

// indexUse is a slot that holds indices.
type indexUse struct {
	slot int
	index
}

// indexUses lists the slots of a part that hold indices, with what they hold.
func indexUses(p plan.Part) (list []indexUse) {
	for _, u := range p.Uses() {
		switch u.As {
		case plan.RoleRouting: // who reads it does not know of how many it is
			list = append(list, indexUse{u.Slot, index{role: u.As, k: u.Select}})
		case plan.RoleStarts, plan.RoleMembers:
			list = append(list, indexUse{u.Slot, index{role: u.As, k: u.Select, experts: u.Of}})
		}
	}
	return list
}
