package planfuzz

import (
	"slices"

	"mla/runtime/plan"
)

// groupingOf is the grouping that a part writes or reads; nil: none.
func groupingOf(p plan.Part) *plan.Grouping {
	switch p := p.(type) {
	case *plan.GroupExperts:
		return &p.Grouping
	case *plan.RouteBatch:
		return &p.Grouping
	case *plan.Experts:
		return p.Grouping
	}
	return nil
}

// groupBeside adds a part that writes the grouping to the kernel that reads it, so that the reader sees it
// change.
func groupBeside(b *plan.Bundle) bool {
	changed := false
	for _, q := range sequences(b) {
		var routing *plan.Operand
		var slot plan.Slot
		for i := range *q {
			d := &(*q)[i]
			k := &b.Kernels[d.Kernel]
			if op, s := routingOf(k, d); op != nil {
				routing, slot = op, *s
			}
			e, ok := k.Parts[0].(*plan.Experts)
			if ok && e.Grouping != nil && routing != nil {
				addGroup(k, e, slot)
			}
			if groups(k) && len(d.Operands) == len(k.Slots)-1 && routing != nil {
				d.Operands, d.Barrier, changed = append(slices.Clone(d.Operands), *routing), true, true
			}
		}
	}
	settle(b)
	return changed
}

// routingOf is the operand and slot with the selections that a kernel reads or groups, of all rows.
func routingOf(k *plan.Kernel, d *plan.Dispatch) (*plan.Operand, *plan.Slot) {
	for _, p := range k.Parts {
		at := -1
		switch p := p.(type) {
		case *plan.RouteBatch:
			at = p.Routing
		case *plan.GroupExperts:
			at = p.Routing
		}
		if at >= 0 && at < len(d.Operands) {
			op, s := d.Operands[at], k.Slots[at]
			return &op, &s
		}
	}
	return nil, nil
}

// groups says whether the kernel has experts after a part that groups them.
func groups(k *plan.Kernel) bool {
	_, first := k.Parts[0].(*plan.GroupExperts)
	return first && len(k.Parts) > 1
}

// addGroup inserts a part that groups experts before the part that reads the groups.
func addGroup(k *plan.Kernel, e *plan.Experts, routing plan.Slot) {
	routing.Name, routing.Write = "routing_again", false
	k.Slots = append(slices.Clone(k.Slots), routing)
	k.Slots[e.Grouping.Starts].Write, k.Slots[e.Grouping.Members].Write = true, true
	k.Parts = append([]plan.Part{&plan.GroupExperts{Routing: len(k.Slots) - 1, Grouping: *e.Grouping}}, k.Parts...)
}

// selectBeside adds a part that selects experts of one row to the kernel that reads the selection.
func selectBeside(b *plan.Bundle) bool {
	for i := range b.Decode().Dispatches {
		d := &b.Decode().Dispatches[i]
		k := &b.Kernels[d.Kernel]
		for _, p := range k.Parts {
			e, ok := p.(*plan.Experts)
			if !ok || e.Gating == nil {
				continue
			}
			again := *e
			again.Gating = nil
			k.Parts = append(slices.Clone(k.Parts), &again)
			settle(b)
			return true
		}
	}
	return false
}

// sumBeside adds a part that sums up the result of a product in the same kernel.
func sumBeside(b *plan.Bundle) bool {
	return eachKernel(b, func(k *plan.Kernel) bool {
		for _, p := range k.Parts {
			m, ok := p.(*plan.MatVec)
			if !ok || m.Add < 0 || m.Out.Slot < 0 || k.Slots[m.Out.Slot].Elem != k.Slots[m.Add].Elem {
				continue
			}
			sum := &plan.AddVec{A: m.Out, B: plan.Vec{Slot: m.Add, Offset: m.Out.Offset, Stride: m.Out.Stride}, Out: m.Out, Dim: m.Rows, RowsPerGroup: m.RowsPerGroup}
			k.Parts = append(slices.Clone(k.Parts), sum)
			return true
		}
		return false
	})
}
