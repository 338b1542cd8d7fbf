package describe

import (
	"testing"

	"mla/runtime/plan"
)

// Shares are those of the tiers, from small chips to large ones.
func Shares() (dense, moe []Range) {
	for _, t := range []*tier{&proTier, &maxTier, &ultraTier} {
		dense, moe = append(dense, t.dense.Range), append(moe, t.moe.Range)
	}
	return dense, moe
}

// Timings are those of the page.
func Timings(r *Report) []Timing { return r.timings() }

// Must describes a token.
func Must(t *testing.T, b *plan.Bundle, profile, depth int) *Report {
	t.Helper()
	r, err := Make(b, profile, depth, 1)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
