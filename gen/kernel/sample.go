package kernel

import (
	"mla/gen/target"
	"mla/runtime/plan"
)

// The shapes of the sampler's kernels. Scanning is spread over the GPU. One threadgroup picks a row's token,
// with fewer threads for a small vocabulary.
const (
	scanThreads = 256
	scanBlock   = 256
	pickFew     = 128
	largeVocab  = 8192
)

// pickThreads returns the number of threads that pick one token.
func pickThreads(b *plan.Bundle) int {
	if b.Model.VocabSize > largeVocab {
		return target.For(b.Class).PickThreads()
	}
	return pickFew
}

// Pick adds the dispatches that sample the next token of each row from its logits, so that a device can run
// the next step without the host.
func Pick(b *plan.Bundle) {
	vocab := b.Model.VocabSize
	scan := &plan.ScanPicks{Vocab: vocab, Block: scanBlock, Blocks: scanThreads / simdWidth, MaxBatch: b.MaxBatch}
	pick := &plan.PickTokens{Vocab: vocab, Scanned: scan.Scanned(), Row: -1, MaxBatch: b.MaxBatch}
	l := plan.PickLayoutOf(b.BatchRows(), vocab, scan.Scanned())
	b.PickBytes = l.Bytes
	s := newSampler("picks_scan", scanThreads,
		"logits of all rows behind which a token is picked, without NaN and infinities, with bias and penalties, of the tokens that may be picked; the best of each threadgroup.")
	scan.Logits = s.slot(plan.Slot{Name: "logits", Space: plan.SpaceLogits}, plan.Operand{})
	scan.Picks = s.memory(plan.Slot{Name: "picks", Elem: plan.ElemPick}, l.Picks, l.Adjusts)
	scan.Adjusts = s.memory(plan.Slot{Name: "adjusts", Elem: plan.ElemAdjust}, l.Adjusts, l.Masks)
	scan.Masks = s.memory(plan.Slot{Name: "masks", Elem: plan.ElemU32}, l.Masks, l.Tokens)
	scan.Values = s.memory(plan.Slot{Name: "values", Write: true}, l.Values, l.Tops)
	scan.Tops = s.memory(plan.Slot{Name: "tops", Write: true}, l.Tops, l.TopIDs)
	scan.TopIDs = s.memory(plan.Slot{Name: "top_ids", Elem: plan.ElemU32, Write: true}, l.TopIDs, l.Kept)
	b.Pick = append(b.Pick, s.dispatch(b, scan))

	s = newSampler("picks_pick", pickThreads(b),
		"the best token of each row, or top-k, top-p, min-p, temperature and a draw: a threadgroup for each, which makes the row that of the token.")
	pick.Picks = s.memory(plan.Slot{Name: "picks", Elem: plan.ElemPick, Write: true}, l.Picks, l.Adjusts)
	pick.Tokens = s.memory(plan.Slot{Name: "tokens", Elem: plan.ElemU32, Write: true}, l.Tokens, l.Values)
	pick.Values = s.memory(plan.Slot{Name: "values"}, l.Values, l.Tops)
	pick.Tops = s.memory(plan.Slot{Name: "tops"}, l.Tops, l.TopIDs)
	pick.TopIDs = s.memory(plan.Slot{Name: "top_ids", Elem: plan.ElemU32}, l.TopIDs, l.Kept)
	pick.Kept = s.memory(plan.Slot{Name: "kept", Write: true}, l.Kept, l.KeptIDs)
	pick.KeptIDs = s.memory(plan.Slot{Name: "kept_ids", Elem: plan.ElemU32, Write: true}, l.KeptIDs, l.Bytes)
	pick.Row = s.slot(plan.Slot{Name: "current", Space: plan.SpaceRow, Elem: plan.ElemRow, Write: true}, plan.Operand{})
	b.Pick = append(b.Pick, s.dispatch(b, pick))
}

// sampler collects the slots and operands of one kernel of the sampler.
type sampler struct {
	k        plan.Kernel
	operands []plan.Operand
}

func newSampler(name string, threads int, doc string) *sampler {
	return &sampler{k: plan.Kernel{Name: name, Doc: doc, Threads: threads}}
}

// slot adds a slot and its operand.
func (s *sampler) slot(slot plan.Slot, o plan.Operand) int {
	o.Space = slot.Space
	s.k.Slots = append(s.k.Slots, slot)
	s.operands = append(s.operands, o)
	return len(s.k.Slots) - 1
}

// memory adds a slot for bytes [from, to) of the sampler's memory.
func (s *sampler) memory(slot plan.Slot, from, to int64) int {
	slot.Space = plan.SpacePick
	return s.slot(slot, plan.Operand{Offset: from, Bytes: to - from})
}

func (s *sampler) dispatch(b *plan.Bundle, part plan.Part) plan.Dispatch {
	s.k.Parts = []plan.Part{part}
	return plan.Dispatch{Kernel: intern(b, s.k), Layer: -1, Barrier: true, Operands: s.operands}
}
