package verify

import (
	"fmt"

	"mla/runtime/plan"
)

// checkPartOfModel checks a part against the model, beyond the checks of its uses.
func checkPartOfModel(k *plan.Kernel, m *plan.Model, p plan.Part) error {
	want := func(holds bool, format string, args ...any) error {
		if holds {
			return nil
		}
		return fmt.Errorf("%T: "+format, append([]any{p}, args...)...)
	}
	if r, n := ropeOf(p); r != nil && (r.Dim != m.QKRopeHeadDim || r.HeadDim < r.Dim || n%r.HeadDim != 0) {
		return want(false, "rotates %d of %d elements, %d in all; the table has %d", r.Dim, r.HeadDim, n, m.QKRopeHeadDim)
	}
	switch p := p.(type) {
	case *plan.ExpandHeads:
		dim := m.VHeadDim
		if p.Keys {
			dim = m.QKNopeHeadDim
		}
		return want(p.Heads == m.NumAttentionHeads && p.Dim == dim && p.LatDim == m.KVLoraRank && p.PeDim == m.QKRopeHeadDim,
			"%d heads of %d columns of rows of %d and %d; the model has others", p.Heads, p.Dim, p.LatDim, p.PeDim)
	case *plan.AttendHeads:
		return want(p.Heads == m.NumAttentionHeads && p.NopeDim == m.QKNopeHeadDim && p.PeDim == m.QKRopeHeadDim && p.VDim == m.VHeadDim,
			"%d heads of %d + %d and %d columns; the model has others", p.Heads, p.NopeDim, p.PeDim, p.VDim)
	case *plan.DeltaHeads, *plan.DeltaVectors, *plan.DeltaColumns, *plan.DeltaChunks, *plan.DeltaFold:
		s, has := plan.StateOf(p), m.State()
		return want(s.Heads == has.Heads && s.Dim == has.Dim && s.Taps == has.Taps && s.Slot == has.Floats(),
			"%d heads of %d columns with %d taps, states of %d floats; the model has others", s.Heads, s.Dim, s.Taps, s.Slot)
	case *plan.Embed:
		return want(!wanted(k), "the tokens of rows that are wanted, which have places instead")
	case *plan.GatherVec:
		return want(wanted(k), "gathers rows that are not those wanted")
	case *plan.ScanPicks:
		return want(p.Vocab == m.VocabSize && p.Block == ScanBlock && p.Blocks*SimdWidth == k.Threads,
			"scans %d logits, %d for each of %d simdgroups", p.Vocab, p.Block, p.Blocks)
	case *plan.PickTokens:
		return want(p.Vocab == m.VocabSize, "picks of %d tokens", p.Vocab)
	}
	return nil
}
