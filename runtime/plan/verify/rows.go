package verify

import (
	"errors"
	"fmt"
	"slices"

	"mla/runtime/plan"
)

// checkBatch checks that a part supports the number of rows of its kernel.
func checkBatch(k *plan.Kernel, p plan.Part) error {
	if k.Width < 0 || k.Width == 1 || k.Width > plan.MaxWidth {
		return fmt.Errorf("a kernel of %d rows; expected 0 for one, or 2 to %d", k.Width, plan.MaxWidth)
	}
	if err := checkStrides(k); err != nil {
		return err
	}
	several := k.Width > 0
	wrong := func(what string) error { return fmt.Errorf("%T with %s in a kernel of %d rows", p, what, k.Width) }
	switch p := p.(type) {
	case *plan.MatVec:
		if several && (p.Norm != nil || p.Combine != nil && p.Tokens > 0) {
			return wrong("a norm or a combine of its own")
		}
	case *plan.Experts:
		grouped := p.Grouping != nil
		if several && p.Norm != nil || grouped && (!several || p.Gating != nil) || grouped != (p.Tokens > 0) {
			return wrong("a norm of its own, or gating or no tile with groups")
		}
		if grouped && (p.Grouping.K != p.K || p.Grouping.Experts < 1) {
			return wrong(fmt.Sprintf("groups of %d of %d experts", p.Grouping.K, p.Grouping.Experts))
		}
		if grouped != (p.Shares > 0) || p.Shares < 0 || p.Shares > plan.MaxShares {
			return wrong(fmt.Sprintf("%d threadgroups for the same weights of an expert", p.Shares))
		}
		return checkPersistent(k, p)
	case *plan.RouteBatch:
		if k.Width < 2 || k.Width > plan.LargestBatch {
			return wrong("one threadgroup")
		}
		if p.Grouping.K != p.Gating.K || p.Grouping.Experts != p.Gating.Experts {
			return wrong(fmt.Sprintf("groups of %d of %d experts", p.Grouping.K, p.Grouping.Experts))
		}
	case *plan.GroupExperts:
		if !several {
			return wrong("groups")
		}
	case *plan.ExpandHeads:
		if !several {
			return wrong("heads of the cache rows of many")
		}
		return checkExpand(k, p)
	case *plan.AttendHeads:
		if !several {
			return wrong("attention of many")
		}
		return checkHeads(k, p)
	case *plan.DeltaHeads, *plan.DeltaVectors, *plan.DeltaColumns, *plan.DeltaChunks, *plan.DeltaFold:
		n := plan.StateOf(p).Shares
		if shared := n > 0; shared != several || n < 0 || n > plan.MaxShares {
			return wrong(fmt.Sprintf("%d threadgroups of a head", n))
		}
	case *plan.GatherVec:
		if !several || p.PerGroup != k.Threads || k.Slots[p.Vec].Stride < p.Dim {
			return wrong(fmt.Sprintf("%d elements per threadgroup, of vectors of %d that are %d apart", p.PerGroup, p.Dim, k.Slots[p.Vec].Stride))
		}
	}
	return nil
}

// maxTiles is the most tiles of weights that persistent threadgroups may share.
const maxTiles = 1 << 20

// checkPersistent checks that all simdgroups of a persistent threadgroup share the same rows, with few
// inputs.
func checkPersistent(k *plan.Kernel, p *plan.Experts) error {
	if p.Persistent == 0 {
		return nil
	}
	entries := 0
	if p.Grouping != nil {
		entries = p.Grouping.Entries(k.Width, p.Tokens)
	}
	switch {
	case p.Grouping == nil || p.Shares != 1 || p.Persistent < 0 || p.Persistent > plan.MaxPersistent:
		return fmt.Errorf("%d persistent threadgroups, %d for the same weights, of experts; expected groups, one, and up to %d", p.Persistent, p.Shares, plan.MaxPersistent)
	case p.Tokens > SharedInputs || p.SplitK != k.Threads/SimdWidth || p.RowsPerGroup < 1 || entries > maxTiles/ceil(p.Rows, p.RowsPerGroup):
		return fmt.Errorf("persistent threadgroups of %d simdgroups, %d of which share rows, for %d inputs and %d × %d rows; expected all to share, up to %d inputs, and %d tiles", k.Threads/SimdWidth, p.SplitK, p.Tokens, entries, p.Rows, SharedInputs, maxTiles)
	}
	return nil
}

// maxElements is the number of elements of all rows that a uint can index.
const maxElements = 1 << 32

// checkStrides checks the strides of rows: vectors do not overlap, and all are as aligned as the first.
func checkStrides(k *plan.Kernel) error {
	rows := 0
	for _, s := range k.Slots {
		if s.Elem == plan.ElemRow && (s.Space == plan.SpaceRow || s.Space == plan.SpaceWanted) {
			rows++
		}
	}
	if rows > 1 || k.Width > 0 && rows == 0 {
		return errors.New("a kernel of several rows without a slot for them, or one with two such slots")
	}
	for _, s := range k.Slots {
		aligned := s.Stride%plan.StrideAlign == 0 || s.Space == plan.SpaceLogits
		if s.Stride < 0 || s.Stride > 0 && k.Width == 0 || !aligned {
			return fmt.Errorf("slot %s has vectors %d apart; expected multiples of %d, and none in a kernel of one row", s.Name, s.Stride, plan.StrideAlign)
		}
		if s.Stride > maxElements/max(k.Width, 1) {
			return fmt.Errorf("slot %s has %d vectors %d apart; expected at most %d elements", s.Name, k.Width, s.Stride, maxElements)
		}
	}
	return nil
}

// wanted says whether a kernel computes the wanted rows instead of all rows.
func wanted(k *plan.Kernel) bool {
	return slices.ContainsFunc(k.Slots, func(s plan.Slot) bool { return s.Space == plan.SpaceWanted })
}
