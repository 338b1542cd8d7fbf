package check

import (
	"fmt"

	"mla/runtime/plan"
	"mla/runtime/plan/verify"
)

// argument describes how a kernel uses a slot.
type argument struct {
	// role is the kind of contents that the slot has before a launch if the kernel reads it.
	role plan.Role
	// result: the slot has no contents before the launch. A kernel that reads it before writing it reads NaN.
	result bool
	// terms is how many float32 terms a number of a result sums up, counted over all sums within the kernel
	// that lead to it.
	terms int
	// perSplit is how many numbers of a result belong to one attention split if the kernel does not write
	// those of empty splits; 0: it writes all.
	perSplit int
	// attention: the terms are those of attention, whose products may be of halves if the cache has halves.
	attention bool
	// expanded: the weights may have been rounded to halves if the cache has halves.
	expanded bool
	// product: the weights may have been rounded to halves.
	product, gated bool // gated: two products are multiplied
	limited        bool // the results are clamped to a bound, the sums are not
	// rounded: the terms are results that the kernel has rounded.
	rounded bool
}

// arguments describes all slots of a kernel, and the kernel's split of the cache if there is one.
type arguments struct {
	kernel   *plan.Kernel
	slots    map[int]argument
	splits   *plan.Splits
	deep     bool            // the kernel reads the cache, but not in splits
	attend   *plan.Attend    // nil: the kernel has no attention
	state    *plan.PartState // the part that updates a state; nil: none
	decay    decay           // of a part with linear attention
	grouping *plan.Grouping  // the grouping that a part reads; nil: none
	err      error
}

// argumentsOf lists how the parts of a kernel use its slots. It fails for a slot that no part uses.
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

// add records one use of a slot.
func (a *arguments) add(slot int, use argument) {
	before, ok := a.slots[slot]
	if ok && (before.role != use.role || before.result != use.result) && a.err == nil {
		a.err = fmt.Errorf("slot %s has two uses", a.kernel.Slots[slot].Name)
	}
	use.terms = max(use.terms, before.terms)
	a.slots[slot] = use
}

// part records the slots of one part.
func (a *arguments) part(p plan.Part) {
	attention := a.note(p)
	m := plan.ProductOf(p)
	for _, u := range p.Uses() {
		use := argument{role: u.As, terms: u.Terms}
		if u.Splits != nil {
			a.splits = u.Splits
		}
		switch kept := u.As == plan.RoleCounters || u.As == plan.RoleGathered; { // counters are zero before and after; gathered values are moved unchanged
		case u.Write && !kept:
			use.result, use.expanded = true, u.As == plan.RoleHeads
			if use.attention = attention; attention {
				use.terms += context
			}
			if a.state != nil { // each row sums over the keys of a state that earlier rows have accumulated
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

// note records what the cases need to know of a part, and says whether the part is attention.
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
