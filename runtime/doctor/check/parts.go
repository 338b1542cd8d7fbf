package check

import (
	"fmt"

	"mla/runtime/plan"
	"mla/runtime/plan/verify"
)

// argument is what a kernel does with a slot.
type argument struct {
	// role is what the slot holds before a launch if the kernel reads it.
	role plan.Role
	// result: it holds nothing, and a kernel that reads it before it wrote it reads NaN.
	result bool
	// terms is how many float32 terms a number sums up: of a result, over all that
	// leads to it within the kernel.
	terms int
	// perSplit is how many numbers of a result belong to one attention split, if
	// the kernel leaves those of empty splits as they are; 0: it writes all.
	perSplit int
	// attention is whether the terms are of attention, whose products may be of
	// halves where the cache has halves.
	attention bool
	// expanded is whether its weights may have been rounded to halves where the cache has halves.
	expanded bool
	// product is whether its weights may have been rounded to halves.
	product, gated bool // gated: two of them are multiplied
	limited        bool // the results have a bound, which the sums have not
	// rounded is whether what it sums up is a result that the kernel has rounded.
	rounded bool
}

// arguments are all slots of a kernel, and the cut of the cache if it has one.
type arguments struct {
	kernel   *plan.Kernel
	slots    map[int]argument
	splits   *plan.Splits
	deep     bool            // it reads the cache, but not in splits
	attend   *plan.Attend    // nil: none
	state    *plan.PartState // that a part moves on; nil: none
	decay    decay           // of a part with linear attention
	grouping *plan.Grouping  // that a part reads; nil: none
	err      error
}

// argumentsOf lists what the parts of a kernel do with its slots. It fails for slots that no part uses.
func argumentsOf(k *plan.Kernel) (*arguments, error) {
	a := &arguments{kernel: k, slots: map[int]argument{}}
	for _, p := range k.Parts {
		a.part(p)
	}
	for i := range k.Slots {
		if s := &k.Slots[i]; s.Elem == plan.ElemRow || s.Elem == plan.ElemArgs {
			continue
		}
		if _, ok := a.slots[i]; !ok && a.err == nil {
			a.err = fmt.Errorf("no part uses slot %s", k.Slots[i].Name)
		}
	}
	if a.err != nil {
		return nil, fmt.Errorf("kernel %s: %w", k.Name, a.err)
	}
	return a, nil
}

// add notes the use of a slot.
func (a *arguments) add(slot int, use argument) {
	before, ok := a.slots[slot]
	if ok && (before.role != use.role || before.result != use.result) && a.err == nil {
		a.err = fmt.Errorf("slot %s has two uses", a.kernel.Slots[slot].Name)
	}
	use.terms = max(use.terms, before.terms)
	a.slots[slot] = use
}

// part notes the slots of one part.
func (a *arguments) part(p plan.Part) {
	attention := a.note(p)
	m := plan.ProductOf(p)
	for _, u := range p.Uses() {
		use := argument{role: u.As, terms: u.Terms}
		if u.Splits != nil {
			a.splits = u.Splits
		}
		switch kept := u.As == plan.RoleCounters || u.As == plan.RoleGathered; { // zeros before and after; moved as it is
		case u.Write && !kept:
			use.result, use.expanded = true, u.As == plan.RoleHeads
			if use.attention = attention; attention {
				use.terms += context
			}
			if a.state != nil { // a sum over the keys in each row, of a state that the rows before have summed up
				use.terms *= max(1, a.kernel.Width)
			}
			if u.As == plan.RoleSplitOut {
				use.perSplit = u.Len / u.Splits.Count
			}
			use.product = m != nil && verify.Matrices(p)
			use.gated = use.product && m.Up >= 0
			use.limited = m != nil && m.Limit > 0
		case u.As == plan.RoleCache:
			a.deep = a.deep || a.attend == nil
		case u.As == plan.RoleHeads:
			a.deep = true
		}
		a.add(u.Slot, use)
	}
}

// note keeps what cases of a part need of it, and says whether it is attention.
func (a *arguments) note(p plan.Part) (attention bool) {
	switch p := p.(type) {
	case *plan.Attend:
		a.attend = p
		return true
	case *plan.AttendHeads:
		return true
	case *plan.DeltaHeads:
		a.state, a.decay = plan.StateOf(p), decay{p.A, p.DT, p.Bound}
	case *plan.DeltaVectors:
		a.state, a.decay = plan.StateOf(p), decay{p.A, p.DT, p.Bound}
	case *plan.DeltaChunks:
		a.state, a.decay = plan.StateOf(p), decay{p.A, p.DT, p.Bound}
	case *plan.DeltaColumns, *plan.DeltaFold:
		a.state = plan.StateOf(p)
	case *plan.Experts:
		a.grouping = p.Grouping
	}
	return false
}
