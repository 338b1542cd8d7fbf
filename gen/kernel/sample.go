package kernel

import (
	"mla/runtime/plan"
)

// The shapes of the sampler's kernels. Scanning is spread over the GPU. Picking is
// for a lone threadgroup, as wide as the vocabulary is worth.
const (
	scanThreads  = 256
	scanPerGroup = 256
	pickFew      = 128
	pickMany     = 512
	largeVocab   = 8192
)

// Sample adds the dispatches that pick a token by the logits, so that a device can
// feed it back without the host.
func Sample(b *plan.Bundle) {
	vocab := b.Model.VocabSize
	scan := &plan.ScanLogits{Vocab: vocab, PerGroup: scanPerGroup}
	pick := &plan.PickToken{Vocab: vocab, Scanned: scan.Groups(), Row: -1}
	l := plan.SampleLayoutOf(vocab, scan.Groups())
	b.SampleBytes = l.Bytes
	s := newSampler("sample_scan", scanThreads,
		"logits without NaN and infinities, with bias and penalties; the best of each threadgroup.")
	scan.Logits = s.slot(plan.Slot{Name: "logits", Space: plan.SpaceLogits}, plan.Operand{})
	scan.State = s.memory(plan.Slot{Name: "state", Elem: plan.ElemSampling}, l.State, l.Picks)
	scan.Bias = s.memory(plan.Slot{Name: "bias"}, l.Bias, l.Counts)
	scan.Counts = s.memory(plan.Slot{Name: "counts", Elem: plan.ElemU32}, l.Counts, l.Values)
	scan.Values = s.memory(plan.Slot{Name: "values", Write: true}, l.Values, l.Tops)
	scan.Tops = s.memory(plan.Slot{Name: "tops", Write: true}, l.Tops, l.TopIDs)
	scan.TopIDs = s.memory(plan.Slot{Name: "top_ids", Elem: plan.ElemU32, Write: true}, l.TopIDs, l.Kept)
	s.dispatch(b, scan)

	threads := pickFew
	if vocab > largeVocab {
		threads = pickMany
	}
	s = newSampler("sample_pick", threads,
		"the best token, or top-k, top-p, min-p, temperature and a draw; makes the row that of the token.")
	pick.State = s.memory(plan.Slot{Name: "state", Elem: plan.ElemSampling, Write: true}, l.State, l.Picks)
	pick.Picks = s.memory(plan.Slot{Name: "picks", Elem: plan.ElemU32, Write: true}, l.Picks, l.Recent)
	pick.Recent = s.memory(plan.Slot{Name: "recent", Elem: plan.ElemU32, Write: true}, l.Recent, l.Bias)
	pick.Counts = s.memory(plan.Slot{Name: "counts", Elem: plan.ElemU32, Write: true}, l.Counts, l.Values)
	pick.Values = s.memory(plan.Slot{Name: "values"}, l.Values, l.Tops)
	pick.Tops = s.memory(plan.Slot{Name: "tops"}, l.Tops, l.TopIDs)
	pick.TopIDs = s.memory(plan.Slot{Name: "top_ids", Elem: plan.ElemU32}, l.TopIDs, l.Kept)
	pick.Kept = s.memory(plan.Slot{Name: "kept", Write: true}, l.Kept, l.KeptIDs)
	pick.KeptIDs = s.memory(plan.Slot{Name: "kept_ids", Elem: plan.ElemU32, Write: true}, l.KeptIDs, l.Bytes)
	pick.Row = s.slot(plan.Slot{Name: "current", Space: plan.SpaceRow, Elem: plan.ElemRow, Write: true}, plan.Operand{})
	s.dispatch(b, pick)
}

// sampler collects one kernel of the sampler.
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

// memory adds a slot of the sampler's memory, from one offset to another.
func (s *sampler) memory(slot plan.Slot, from, to int64) int {
	slot.Space = plan.SpaceSample
	return s.slot(slot, plan.Operand{Offset: from, Bytes: to - from})
}

func (s *sampler) dispatch(b *plan.Bundle, part plan.Part) {
	s.k.Parts = []plan.Part{part}
	b.Sample = append(b.Sample, plan.Dispatch{Kernel: intern(b, s.k), Layer: -1, Barrier: true, Operands: s.operands})
}
