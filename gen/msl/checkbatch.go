package msl

import (
	"errors"
	"fmt"
	"slices"

	"mla/runtime/plan"
)

// maxWidth bounds the rows of a kernel.
const maxWidth = 1 << 16

// checkBatch holds a part to the number of rows of its kernel: what computes several takes
// its inputs as they are.
func checkBatch(k *plan.Kernel, p plan.Part) error {
	if k.Width < 0 || k.Width == 1 || k.Width > maxWidth {
		return fmt.Errorf("a kernel of %d rows; expected 0 for one, or 2 to %d", k.Width, maxWidth)
	}
	if err := checkStrides(k); err != nil {
		return err
	}
	several := k.Width > 0
	wrong := func(what string) error { return fmt.Errorf("%T with %s in a kernel of %d rows", p, what, k.Width) }
	switch p := p.(type) {
	case *plan.MatVec:
		if several && (p.Norm != nil || p.Combine != nil) {
			return wrong("a norm or a combine of its own")
		}
	case *plan.Experts:
		if several != (p.Grouping != nil) || several && (p.Norm != nil || p.Gating != nil) {
			return wrong("a norm or gating of its own, or without groups")
		}
		return checkGrouping(p.Grouping, p.K)
	case *plan.RouteVec:
		if several != (p.Grouping != nil) {
			return wrong("groups for another number of rows")
		}
		return checkGrouping(p.Grouping, p.Gating.K)
	case *plan.ExpertsSum:
		if several {
			return wrong("experts of one row")
		}
	}
	return nil
}

func checkGrouping(g *plan.Grouping, k int) error {
	if g != nil && (g.K != k || g.Experts < 1) {
		return fmt.Errorf("groups of %d of %d experts per row; expected %d", g.K, g.Experts, k)
	}
	return nil
}

// checkStrides wants the rows, and vectors as aligned as the first.
func checkStrides(k *plan.Kernel) error {
	rows := slices.ContainsFunc(k.Slots, func(s plan.Slot) bool { return s.Space == plan.SpaceRow })
	if k.Width > 0 && (!rows || len(k.Tails) > 0) {
		return errors.New("a kernel of several rows without a slot for them, or with tails")
	}
	for _, s := range k.Slots {
		aligned := s.Stride%plan.StrideAlign == 0 || s.Space == plan.SpaceLogits
		if s.Stride < 0 || s.Stride > 0 && k.Width == 0 || !aligned {
			return fmt.Errorf("slot %s has vectors %d apart; expected multiples of %d, and none in a kernel of one row", s.Name, s.Stride, plan.StrideAlign)
		}
	}
	return nil
}
