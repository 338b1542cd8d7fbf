package verify

import (
	"fmt"

	"mla/runtime/plan"
)

// place is the required place of an array in SpacePick.
type place struct {
	dispatch, slot int
	at             int64
}

// sampler checks the dispatches that pick tokens: none, or one that scans and one that picks. Every array
// must have its place of plan.PickLayout, because the host writes some of them, and the second kernel uses
// indices from the first.
func (o *operands) sampler() error {
	list := o.bundle.Pick
	if len(list) == 0 {
		return nil
	}
	o.width, o.arena, o.picking = 1, 0, true
	if err := o.sequence(list, len(list)); err != nil {
		return err
	}
	if len(list) != 2 {
		return fmt.Errorf("%d dispatches; expected 2", len(list))
	}
	first, second := o.bundle.Kernels[list[0].Kernel].Parts, o.bundle.Kernels[list[1].Kernel].Parts
	if len(first)+len(second) > 2 {
		return fmt.Errorf("%d and %d parts; expected one that scans and one that picks", len(first), len(second))
	}
	need, arrays, err := o.places(first[0], second[0])
	if err != nil {
		return err
	}
	if o.bundle.PickBytes != need {
		return fmt.Errorf("a memory of %d bytes; expected %d", o.bundle.PickBytes, need)
	}
	for _, a := range arrays {
		if op := &list[a.dispatch].Operands[a.slot]; op.Space != plan.SpacePick || op.Offset != a.at {
			return fmt.Errorf("dispatch %d, slot %d is at %d of space %d; expected %d of its memory", a.dispatch, a.slot, op.Offset, op.Space, a.at)
		}
	}
	return nil
}

// places lists the places of plan.PickLayout, and returns its size in bytes.
func (o *operands) places(first, second plan.Part) (int64, []place, error) {
	scan, scans := first.(*plan.ScanPicks)
	pick, picks := second.(*plan.PickTokens)
	if !scans || !picks {
		return 0, nil, fmt.Errorf("a %T and a %T; expected one that scans and one that picks", first, second)
	}
	if most := o.bundle.MaxBatch; scan.MaxBatch != most || pick.MaxBatch != most {
		return 0, nil, fmt.Errorf("batches of up to %d and %d rows; expected %d (0: %d)", scan.MaxBatch, pick.MaxBatch, most, plan.DefaultBatch)
	}
	l := plan.PickLayoutOf(o.bundle.BatchRows(), scan.Vocab, scan.Scanned())
	return l.Bytes, []place{
		{0, scan.Picks, l.Picks}, {0, scan.Adjusts, l.Adjusts}, {0, scan.Masks, l.Masks}, {0, scan.Values, l.Values}, {0, scan.Tops, l.Tops}, {0, scan.TopIDs, l.TopIDs},
		{1, pick.Picks, l.Picks}, {1, pick.Tokens, l.Tokens}, {1, pick.Values, l.Values}, {1, pick.Tops, l.Tops}, {1, pick.TopIDs, l.TopIDs},
		{1, pick.Kept, l.Kept}, {1, pick.KeptIDs, l.KeptIDs},
	}, nil
}
