package verify

import (
	"errors"
	"fmt"
	"slices"

	"mla/runtime/plan"
)

// checkLastBlocks holds the last-block parts of a kernel to what their templates take for granted:
// they read rows of one group that the part before them makes, by whole threadgroups.
func checkLastBlocks(k *plan.Kernel) error {
	for i := range k.LastBlocks {
		t := &k.LastBlocks[i]
		if err := checkLastBlock(k, t); err != nil {
			return fmt.Errorf("last-block part %d: %w", i, err)
		}
		if slices.ContainsFunc(k.LastBlocks[:i], func(other plan.LastBlock) bool { return other.After == t.After || other.Counters == t.Counters }) {
			return fmt.Errorf("last-block part %d: part %d has two, or they share counters", i, t.After)
		}
	}
	return nil
}

// turns is a last-block part as the limits on rows see it: its threadgroup takes them in turns.
func turns(p plan.Part) plan.Part {
	if m, ok := p.(*plan.MatVec); ok {
		one := *m
		one.RowsPerGroup = 1
		return &one
	}
	return p
}

func checkLastBlock(k *plan.Kernel, t *plan.LastBlock) error {
	if t.Part == nil || t.After < 0 || t.After >= len(k.Parts) {
		return fmt.Errorf("behind part %d of %d", t.After, len(k.Parts))
	}
	after, ok := k.Parts[t.After].(*plan.MatVec)
	if !ok || after.Batch != 1 || after.Out.Offset != 0 {
		return fmt.Errorf("behind a %T; expected one mat-vec", k.Parts[t.After])
	}
	if err := checkUse(k, &plan.Use{Slot: t.Counters, As: plan.RoleCounters, Write: true}); err != nil {
		return err
	}
	if err := errors.Join(checkSizes(t.Part), checkPart(k, turns(t.Part))); err != nil {
		return err
	}
	groups := t.Part.Groups()
	made := after.Rows / max(groups, 1)
	if after.Rows%max(groups, 1) != 0 || groups > 1 && made%after.RowsPerGroup != 0 {
		return fmt.Errorf("%d groups of %d rows, %d per threadgroup; expected whole threadgroups for each", groups, after.Rows, after.RowsPerGroup)
	}
	inputs, end, stride, err := lastBlockReads(t.Part, made)
	if err != nil {
		return err
	}
	for _, in := range inputs {
		if k.Slots[in.Slot].Elem != plan.ElemAct {
			return fmt.Errorf("reads slot %d, which does not hold activations", in.Slot)
		}
		if in.Slot != after.Out.Slot || end > made || stride != made {
			return fmt.Errorf("reads %d elements of slot %d, %d apart; expected what part %d makes, %d apart", end, in.Slot, stride, t.After, made)
		}
	}
	return nil
}

// lastBlockReads lists the inputs of a last-block part, where they end within a group, and the
// distance of two groups; a part with only one has that of its row.
func lastBlockReads(p plan.Part, row int) (inputs []plan.Vec, end, stride int, err error) {
	switch p := p.(type) {
	case *plan.MatVec:
		if p.Norm != nil || p.NormApply != nil || p.Combine != nil || p.Up >= 0 || p.SquaredReLU || p.Rope != nil || p.Add >= 0 || p.NormPartial != nil || p.SplitK > 1 ||
			p.RowsPerGroup != p.Rows || p.Out.Slot < 0 {
			return nil, 0, 0, fmt.Errorf("a mat-vec that fuses something, or of %d rows per group; expected all %d", p.RowsPerGroup, p.Rows)
		}
		return []plan.Vec{p.In}, p.In.Offset + p.Cols, p.In.Stride, nil
	case *plan.StoreKV:
		return []plan.Vec{p.Lat, p.KPe}, max(p.Lat.Offset+p.LatDim, p.KPe.Offset+p.PeDim), row, nil
	}
	return nil, 0, 0, fmt.Errorf("no template for a %T as a last-block part", p)
}
