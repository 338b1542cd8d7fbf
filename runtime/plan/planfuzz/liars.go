package planfuzz

import (
	"slices"

	"mla/runtime/plan"
)

// Liar changes a plan so that it is well-formed but wrong about its kernels.
type Liar struct {
	Name string
	Why  string // a part of package verify's error
	// Tell changes the bundle. It returns false if the bundle has nothing to change; the bundle may be
	// changed then, too.
	Tell func(b *plan.Bundle) bool
}

// Liars lists the kinds: indices that no part wrote, slots of a part that share memory, parts of a kernel
// that depend on each other although they run in parallel, and constants for other slots.
var Liars = []Liar{
	{"a routing that is only marked as written", "marked as written", markIndex(plan.RoleRouting)},
	{"starts that are only marked as written", "marked as written", markIndex(plan.RoleStarts)},
	{"members that are only marked as written", "marked as written", markIndex(plan.RoleMembers)},
	{"an input that is only marked as written", "marked as written", markIndex(plan.RoleVector)},
	{"a result that is not marked as written", "cannot serve as", func(b *plan.Bundle) bool {
		return eachKernel(b, func(k *plan.Kernel) bool {
			i := slices.IndexFunc(k.Slots, func(s plan.Slot) bool { return s.Write && s.Space == plan.SpaceArena })
			if i >= 0 {
				k.Slots[i].Write = false
			}
			return i >= 0
		})
	}},
	{"routings that are read further apart than they were written", "read as indices", farRouting},

	{"starts that are the members", "of one part", func(b *plan.Bundle) bool {
		return eachPart(b, func(k *plan.Kernel, p plan.Part) bool {
			g := groupingOf(p)
			if g != nil {
				k.Slots[g.Starts].Write, g.Starts = false, g.Members
			}
			return g != nil
		})
	}},
	{"a result that is its own sums of squares", "of one part", func(b *plan.Bundle) bool {
		return eachPart(b, func(k *plan.Kernel, p plan.Part) bool {
			m, ok := p.(*plan.MatVec)
			if !ok || m.NormPartial == nil || m.Out.Slot < 0 {
				return false
			}
			k.Slots[m.NormPartial.Squares].Write, m.NormPartial.Squares = false, m.Out.Slot
			return true
		})
	}},
	{"results of splits that are their own maxima", "of one part", func(b *plan.Bundle) bool {
		return eachPart(b, func(k *plan.Kernel, p plan.Part) bool {
			a, ok := p.(*plan.Attend)
			if ok {
				k.Slots[a.ML].Write, a.ML = false, a.Out
				k.Slots[a.Out].Elem = plan.ElemF32
			}
			return ok
		})
	}},
	{"a product in place of its input", "of one part", func(b *plan.Bundle) bool {
		return eachPart(b, func(k *plan.Kernel, p plan.Part) bool {
			m, ok := p.(*plan.MatVec)
			if !ok || m.Combine != nil || m.Out.Slot < 0 || len(k.Parts) > 1 || m.Cols < m.Rows || k.Slots[m.In.Slot].Space != plan.SpaceArena {
				return false
			}
			k.Slots[m.Out.Slot].Write, k.Slots[m.In.Slot].Write = false, true
			m.Out = m.In
			return true
		})
	}},
	{"results of experts in one place", "elements are 0 apart", func(b *plan.Bundle) bool {
		return eachPart(b, func(_ *plan.Kernel, p plan.Part) bool {
			e, ok := p.(*plan.Experts)
			if ok {
				e.Out.Stride = 0
			}
			return ok && e.K > 1
		})
	}},
	{"rows that write one vector", "all rows write the same memory", func(b *plan.Bundle) bool {
		return eachPart(b, func(k *plan.Kernel, p plan.Part) bool {
			m, ok := p.(*plan.MatVec)
			if !ok || k.Width == 0 || m.Out.Slot < 0 || k.Slots[m.Out.Slot].Space != plan.SpaceArena {
				return false
			}
			k.Slots[m.Out.Slot].Stride = 0
			return true
		})
	}},

	{"experts grouped beside those that read the groups", "run side by side", groupBeside},
	{"experts selected beside those that read the selection", "run side by side", selectBeside},
	{"a part twice in a kernel", "run side by side", func(b *plan.Bundle) bool {
		return eachKernel(b, func(k *plan.Kernel) bool {
			if !slices.ContainsFunc(k.Parts[0].Uses(), func(u plan.Use) bool { return u.Write }) {
				return false
			}
			k.Parts = append(slices.Clone(k.Parts), k.Parts[0])
			return true
		})
	}},
	{"a sum beside the product that it adds to", "run side by side", sumBeside},

	{"batch strides in another order", "batch strides", func(b *plan.Bundle) bool {
		return eachKernel(b, func(k *plan.Kernel) bool { slices.Reverse(k.Args); return len(k.Args) > 1 })
	}},
	{"the batch stride of one matrix for all", "batch strides", func(b *plan.Bundle) bool {
		return eachKernel(b, func(k *plan.Kernel) bool {
			for i := range k.Args {
				k.Args[i] = k.Args[0]
			}
			return len(k.Args) > 1
		})
	}},
	{"no batch strides", "batch strides", func(b *plan.Bundle) bool {
		return eachKernel(b, func(k *plan.Kernel) bool {
			had := len(k.Args) > 0
			k.Args = nil
			return had
		})
	}},
}

// eachKernel calls change for the kernels that replace no others, and applies the change to their
// replacements.
func eachKernel(b *plan.Bundle, change func(k *plan.Kernel) bool) bool {
	changed := false
	for i := range b.Kernels {
		if b.Kernels[i].Class == "" {
			changed = change(&b.Kernels[i]) || changed
		}
	}
	settle(b)
	return changed
}

// eachPart calls change for all parts of these kernels.
func eachPart(b *plan.Bundle, change func(k *plan.Kernel, p plan.Part) bool) bool {
	return eachKernel(b, func(k *plan.Kernel) bool {
		changed := false
		for _, p := range k.Parts {
			changed = change(k, p) || changed
		}
		return changed
	})
}

// markIndex binds a slot with a role to other memory of the arena in one dispatch, and marks the slot as
// written.
func markIndex(as plan.Role) func(b *plan.Bundle) bool {
	return func(b *plan.Bundle) bool {
		for _, q := range sequences(b) {
			for i := range *q {
				if d := &(*q)[i]; markSlot(b, *q, d, as) {
					settle(b)
					return true
				}
			}
		}
		return false
	}
}

func markSlot(b *plan.Bundle, q []plan.Dispatch, d *plan.Dispatch, as plan.Role) bool {
	k := &b.Kernels[d.Kernel]
	for _, p := range k.Parts {
		for _, u := range p.Uses() {
			if u.As != as || u.Write || k.Slots[u.Slot].Write || k.Slots[u.Slot].Space != plan.SpaceArena {
				continue
			}
			if from := elsewhere(b, q, d, u.Slot); from >= 0 || as == plan.RoleVector {
				k.Slots[u.Slot].Write = true
				if as != plan.RoleVector {
					d.Operands[u.Slot].Offset, d.Barrier = from, true
				}
				return true
			}
		}
	}
	return false
}

// elsewhere is an offset in the arena for an operand that does not overlap the other operands of its
// dispatch; -1: there is none.
func elsewhere(b *plan.Bundle, q []plan.Dispatch, d *plan.Dispatch, slot int) int64 {
	op := &d.Operands[slot]
	for _, other := range q {
		for s, o := range other.Operands {
			if o.Space != plan.SpaceArena || o.Bytes < op.Bytes || o.Offset == op.Offset || b.Kernels[other.Kernel].Slots[s].Elem == plan.ElemRoute {
				continue
			}
			apart := func(x plan.Operand) bool {
				return x.Space != plan.SpaceArena || x.Offset+x.Bytes <= o.Offset || o.Offset+op.Bytes <= x.Offset
			}
			if !slices.ContainsFunc(d.Operands, func(x plan.Operand) bool { return !apart(x) }) {
				return o.Offset
			}
		}
	}
	return -1
}

// farRouting makes readers of several rows' routings read between the rows that were written.
func farRouting(b *plan.Bundle) bool {
	changed := eachPart(b, func(k *plan.Kernel, p plan.Part) bool {
		found := false
		for _, u := range p.Uses() {
			if s := &k.Slots[u.Slot]; u.As == plan.RoleRouting && !u.Write && s.Stride > 0 {
				s.Stride, found = 2*s.Stride, true
			}
		}
		return found
	})
	for i := range b.Batches() { // place it after the rest of the arena
		q := &b.Batches()[i]
		for _, d := range q.Dispatches {
			for s := range d.Operands {
				if op := &d.Operands[s]; b.Kernels[d.Kernel].Slots[s].Elem == plan.ElemRoute {
					op.Offset, op.Bytes = q.ArenaBytes+2*op.Offset, 2*op.Bytes
				}
			}
		}
		q.ArenaBytes *= 3
	}
	return changed
}
