package verify

import (
	"fmt"
	"slices"

	"mla/runtime/plan"
)

// part is a part of a kernel with its uses of slots.
type part struct {
	plan.Part
	uses []plan.Use
}

// partsOf lists the parts of a kernel.
func partsOf(k *plan.Kernel) (list []part) {
	for _, p := range k.Parts {
		list = append(list, part{p, p.Uses()})
	}
	return list
}

// checkSlots checks the slots of a kernel against its parts. Threadgroups run in parallel, so no threadgroup
// may read or write memory that another one writes.
func checkSlots(k *plan.Kernel) error {
	parts := partsOf(k)
	if err := checkMarks(k, parts); err != nil {
		return err
	}
	for i := range parts {
		for u := range parts[i].uses {
			if err := checkWritten(k, parts, i, u); err != nil {
				return fmt.Errorf("part %d: %w", i, err)
			}
		}
	}
	return checkArgs(k)
}

// checkMarks checks that exactly the slots that a part writes are marked as written.
func checkMarks(k *plan.Kernel, parts []part) error {
	written := make([]bool, len(k.Slots))
	for _, p := range parts {
		for _, u := range p.uses {
			written[u.Slot] = written[u.Slot] || u.Write
		}
	}
	for i, s := range k.Slots {
		if s.Write != written[i] {
			return fmt.Errorf("slot %s is marked as written: %t; that its parts write it: %t", s.Name, s.Write, written[i])
		}
	}
	return nil
}

// checkWritten checks that memory that a part writes is not used otherwise: not by another use of the part,
// another part, another entry or another row.
func checkWritten(k *plan.Kernel, parts []part, i, at int) error {
	u := &parts[i].uses[at]
	if !u.Write {
		return nil
	}
	name := k.Slots[u.Slot].Name
	if u.Entries > 1 && u.Stride < u.Len {
		return fmt.Errorf("slot %s: results of %d elements are %d apart", name, u.Len, u.Stride)
	}
	if k.Width > 0 && k.Slots[u.Slot].Stride == 0 && !ofAllRows(u.As) {
		return fmt.Errorf("slot %s: all rows write the same memory", name)
	}
	for j := range parts {
		for other := range parts[j].uses {
			v := &parts[j].uses[other]
			switch {
			case v.Slot != u.Slot, i == j && at == other:
			case i == j:
				return fmt.Errorf("slot %s is both %s and %s of one part, which writes it", name, roles[u.As].name, roles[v.As].name)
			case otherHalf(parts[i].Part, parts[j].Part):
			default:
				return fmt.Errorf("slot %s is written while part %d uses it: parts of a kernel run side by side", name, j)
			}
		}
	}
	return nil
}

// ofAllRows says whether a part uses one memory for all rows of its kernel, or finds each row's place by
// itself.
func ofAllRows(r plan.Role) bool {
	return slices.Contains([]plan.Role{plan.RoleStarts, plan.RoleMembers, plan.RoleCache, plan.RoleHeads, plan.RoleCounters, plan.RoleState}, r)
}

// otherHalf says whether one part writes the keys of expanded heads and the other one the values, which do
// not overlap.
func otherHalf(a, b plan.Part) bool {
	x, ok := a.(*plan.ExpandHeads)
	y, both := b.(*plan.ExpandHeads)
	return ok && both && x.Keys != y.Keys
}

// checkArgs checks that Args lists the slots whose strides the parts need, in order, as kernels know them by
// their number. Memory for arguments must exist exactly if there are any.
func checkArgs(k *plan.Kernel) error {
	var need []int
	for _, p := range k.Parts {
		for _, w := range plan.WeightsOf(p) {
			if w.Entries != 1 {
				need = append(need, w.Slot)
			}
		}
	}
	slices.Sort(need)
	if need = slices.Compact(need); !slices.Equal(k.Args, need) {
		return fmt.Errorf("batch strides of the slots %d; the parts need those of %d", k.Args, need)
	}
	count := 0
	for _, s := range k.Slots {
		if s.Space == plan.SpaceArgs {
			count++
		}
	}
	if n := k.Constants(); count != min(n, 1) {
		return fmt.Errorf("%d slots for %d batch strides and numbers of splits", count, n)
	}
	return nil
}
