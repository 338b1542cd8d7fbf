package verify

import (
	"fmt"

	"mla/runtime/plan"
)

// PickBins and ScanBlock are BINS and BLOCK of the template sample.shared.
const (
	PickBins  = 1024
	ScanBlock = 256
)

// checkPick wants whole bins for each thread, and blocks that the template knows.
func checkPick(vocab, blocks, threads int) error {
	switch {
	case PickBins%threads != 0:
		return fmt.Errorf("%d threads pick a token; expected a divisor of %d", threads, PickBins)
	case blocks != ceil(vocab, ScanBlock):
		return fmt.Errorf("%d blocks of %d tokens; expected %d each", blocks, vocab, ScanBlock)
	}
	return nil
}

// sampleUses are the uses of the sampler's parts.
func sampleUses(p plan.Part) []Use {
	switch p := p.(type) {
	case *plan.ScanLogits:
		return []Use{{Slot: p.Logits, As: Floats}, {Slot: p.State, As: StateIn}, {Slot: p.Bias, As: Floats},
			{Slot: p.Counts, As: Integers}, {Slot: p.Values, As: Results},
			{Slot: p.Tops, As: Results}, {Slot: p.TopIDs, As: IntegersOut}}
	case *plan.PickToken:
		return []Use{{Slot: p.State, As: StateOut}, {Slot: p.Picks, As: IntegersOut}, {Slot: p.Recent, As: IntegersOut},
			{Slot: p.Counts, As: IntegersOut}, {Slot: p.Values, As: Floats}, {Slot: p.Tops, As: Floats},
			{Slot: p.TopIDs, As: Integers}, {Slot: p.Kept, As: Results}, {Slot: p.KeptIDs, As: IntegersOut}, {Slot: p.Row, As: RowOut}}
	case *plan.ScanPicks:
		return []Use{{Slot: p.Logits, As: Floats}, {Slot: p.Picks, As: PicksIn}, {Slot: p.Adjusts, As: AdjustsIn}, {Slot: p.Masks, As: Integers},
			{Slot: p.Values, As: Results}, {Slot: p.Tops, As: Results}, {Slot: p.TopIDs, As: IntegersOut}}
	case *plan.PickTokens:
		return []Use{{Slot: p.Picks, As: PicksOut}, {Slot: p.Tokens, As: IntegersOut}, {Slot: p.Values, As: Floats}, {Slot: p.Tops, As: Floats},
			{Slot: p.TopIDs, As: Integers}, {Slot: p.Kept, As: Results}, {Slot: p.KeptIDs, As: IntegersOut}, {Slot: p.Row, As: RowOut}}
	}
	return nil
}

// samplePart adds a part of the sampler.
func (r *reach) samplePart(p plan.Part) {
	vocab := int64(r.model.VocabSize)
	switch p := p.(type) {
	case *plan.ScanLogits:
		r.want(p.Vocab == r.model.VocabSize && p.PerGroup == ScanBlock, "scans %d logits, %d per threadgroup", p.Vocab, p.PerGroup)
		r.each(vocab, p.Logits, p.Bias, p.Counts, p.Values)
		r.each(1, p.State)
		r.each(int64(p.Groups()), p.Tops, p.TopIDs)
	case *plan.PickToken:
		r.want(p.Vocab == r.model.VocabSize, "picks of %d tokens", p.Vocab)
		r.each(1, p.State)
		r.each(plan.SamplePicks, p.Picks)
		r.each(plan.SampleWindow, p.Recent)
		r.each(vocab, p.Counts, p.Values, p.Kept, p.KeptIDs)
		r.each(int64(p.Scanned), p.Tops, p.TopIDs)
	case *plan.ScanPicks:
		r.want(p.Vocab == r.model.VocabSize && p.Block == ScanBlock && p.Blocks*SimdWidth == r.kernel.Threads,
			"scans %d logits, %d for each of %d simdgroups", p.Vocab, p.Block, p.Blocks)
		r.numbers(p.Logits, vocab) // of a row that the host names
		r.each(plan.MaxWanted, p.Picks)
		r.each(plan.MaxWanted*plan.PickAdjusts, p.Adjusts)
		r.each(plan.MaxWanted*int64(plan.MaskWords(p.Vocab)), p.Masks)
		r.each(plan.MaxWanted*vocab, p.Values)
		r.each(plan.MaxWanted*int64(p.Scanned()), p.Tops, p.TopIDs)
	case *plan.PickTokens:
		r.want(p.Vocab == r.model.VocabSize, "picks of %d tokens", p.Vocab)
		r.each(plan.MaxWanted, p.Picks)
		r.each(plan.PickTurns*plan.MaxWanted, p.Tokens)
		r.each(plan.MaxWanted*vocab, p.Values, p.Kept, p.KeptIDs)
		r.each(plan.MaxWanted*int64(p.Scanned), p.Tops, p.TopIDs)
	default:
		r.fail("part %T is not known", p)
	}
}

// each is numbers for several slots.
func (r *reach) each(n int64, slots ...int) {
	for _, slot := range slots {
		r.numbers(slot, n)
	}
}
