package msl

import (
	"fmt"

	"mla/runtime/plan"
)

// bins and scanned are BINS and BLOCK of the template sample.shared.
const (
	bins    = 1024
	scanned = 256
)

// pickFloats is the threadgroup memory of plan.PickToken: bins of counts and three
// limbs, two words per thread or block and per 32 of them, and two results.
func pickFloats(p *plan.PickToken, threads int) int {
	sums := ceil(max(p.Scanned, threads), simdWidth)
	return 4*bins + 2*(sums*simdWidth+sums) + 2
}

// checkPick wants whole bins for each thread, and blocks that the template knows.
func checkPick(p *plan.PickToken, threads int) error {
	switch {
	case bins%threads != 0:
		return fmt.Errorf("%d threads pick a token; expected a divisor of %d", threads, bins)
	case p.Scanned != ceil(p.Vocab, scanned):
		return fmt.Errorf("%d threadgroups scan %d tokens; expected %d each", p.Scanned, p.Vocab, scanned)
	}
	return nil
}

// sampleRefs are the refs of the sampler's parts.
func sampleRefs(p plan.Part) []ref {
	switch p := p.(type) {
	case *plan.ScanLogits:
		return []ref{{slot: p.Logits, use: floats}, {slot: p.State, use: stateIn}, {slot: p.Bias, use: floats},
			{slot: p.Counts, use: integers}, {slot: p.Values, use: results},
			{slot: p.Tops, use: results}, {slot: p.TopIDs, use: integersOut}}
	case *plan.PickToken:
		return []ref{{slot: p.State, use: stateOut}, {slot: p.Picks, use: integersOut}, {slot: p.Recent, use: integersOut},
			{slot: p.Counts, use: integersOut}, {slot: p.Values, use: floats}, {slot: p.Tops, use: floats},
			{slot: p.TopIDs, use: integers}, {slot: p.Kept, use: results}, {slot: p.KeptIDs, use: integersOut}, {slot: p.Row, use: rowOut}}
	}
	return nil
}

// Picks is how many picked tokens are kept.
func (v *partView) Picks() int { return plan.SamplePicks }
