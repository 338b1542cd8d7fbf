package verify

import (
	"fmt"
	"slices"

	"mla/runtime/plan"
)

// part is a part of a kernel with all that it does with slots.
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

// checkSlots holds what the slots of a kernel say to what its parts do with them. Threadgroups run side by side, so
// nothing may read or write what another one writes.
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

// checkMarks wants the slots marked as written that some part writes, and no others.
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

// checkWritten wants memory that a part writes to be of nobody else: of no other use of the part, of no other part, of
// no other entry and of no other row.
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

// ofAllRows says that a part writes one thing for all rows of its kernel, or finds the place of each by itself.
func ofAllRows(r plan.Role) bool {
	return slices.Contains([]plan.Role{plan.RoleStarts, plan.RoleMembers, plan.RoleCache, plan.RoleHeads, plan.RoleCounters, plan.RoleState}, r)
}

// otherHalf says that one part makes the keys of expanded heads and the other one the values. They lie apart.
func otherHalf(a, b plan.Part) bool {
	x, ok := a.(*plan.ExpandHeads)
	y, both := b.(*plan.ExpandHeads)
	return ok && both && x.Keys != y.Keys
}

// checkArgs wants the distances of experts and heads that the parts need, in the order of their slots: kernels know
// them by their number. There is memory for them exactly then.
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
