package verify

import (
	"fmt"

	"mla/runtime/plan"
)

// place is where an array of a sampler has to be.
type place struct {
	dispatch, slot int
	at             int64
}

// samplers checks the dispatches that pick tokens: none, or one that scans and one that
// picks, with every array where its layout has it, since the host fills some and what one
// leaves as indices the other uses.
func (o *operands) samplers() error {
	b := o.bundle
	if err := o.picks(b.Sample, plan.SpaceSample, b.SampleBytes, chainPlaces); err != nil {
		return fmt.Errorf("sampler, %w", err)
	}
	if len(b.Pick) > 0 && len(b.Batches()) == 0 {
		return fmt.Errorf("picks behind several rows, without a sequence of several")
	}
	if err := o.picks(b.Pick, plan.SpacePick, b.PickBytes, rowPlaces); err != nil {
		return fmt.Errorf("sampler of several rows, %w", err)
	}
	return nil
}

// picks checks one of them, with its memory; places says what its two parts need of it.
func (o *operands) picks(list []plan.Dispatch, space plan.Space, bytes int64, places func(scan, pick plan.Part) (int64, []place, error)) error {
	if len(list) == 0 {
		return nil
	}
	o.width, o.arena, o.sampler = 1, 0, space
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
	need, arrays, err := places(first[0], second[0])
	if err != nil {
		return err
	}
	if bytes != need {
		return fmt.Errorf("a memory of %d bytes; expected %d", bytes, need)
	}
	for _, a := range arrays {
		if op := &list[a.dispatch].Operands[a.slot]; op.Space != space || op.Offset != a.at {
			return fmt.Errorf("dispatch %d, slot %d is at %d of space %d; expected %d of its memory", a.dispatch, a.slot, op.Offset, op.Space, a.at)
		}
	}
	return nil
}

// chainPlaces are those of plan.SampleLayout.
func chainPlaces(first, second plan.Part) (int64, []place, error) {
	scan, scans := first.(*plan.ScanLogits)
	pick, picks := second.(*plan.PickToken)
	if !scans || !picks {
		return 0, nil, fmt.Errorf("a %T and a %T; expected one that scans and one that picks", first, second)
	}
	l := plan.SampleLayoutOf(scan.Vocab, scan.Groups())
	return l.Bytes, []place{
		{0, scan.State, l.State}, {0, scan.Bias, l.Bias}, {0, scan.Counts, l.Counts}, {0, scan.Values, l.Values}, {0, scan.Tops, l.Tops}, {0, scan.TopIDs, l.TopIDs},
		{1, pick.State, l.State}, {1, pick.Picks, l.Picks}, {1, pick.Recent, l.Recent}, {1, pick.Counts, l.Counts}, {1, pick.Values, l.Values},
		{1, pick.Tops, l.Tops}, {1, pick.TopIDs, l.TopIDs}, {1, pick.Kept, l.Kept}, {1, pick.KeptIDs, l.KeptIDs},
	}, nil
}

// rowPlaces are those of plan.PickLayout.
func rowPlaces(first, second plan.Part) (int64, []place, error) {
	scan, scans := first.(*plan.ScanPicks)
	pick, picks := second.(*plan.PickTokens)
	if !scans || !picks {
		return 0, nil, fmt.Errorf("a %T and a %T; expected one that scans and one that picks, of several rows", first, second)
	}
	l := plan.PickLayoutOf(scan.Vocab, scan.Scanned())
	return l.Bytes, []place{
		{0, scan.Picks, l.Picks}, {0, scan.Adjusts, l.Adjusts}, {0, scan.Masks, l.Masks}, {0, scan.Values, l.Values}, {0, scan.Tops, l.Tops}, {0, scan.TopIDs, l.TopIDs},
		{1, pick.Picks, l.Picks}, {1, pick.Tokens, l.Tokens}, {1, pick.Values, l.Values}, {1, pick.Tops, l.Tops}, {1, pick.TopIDs, l.TopIDs},
		{1, pick.Kept, l.Kept}, {1, pick.KeptIDs, l.KeptIDs},
	}, nil
}
