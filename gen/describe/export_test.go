package describe

import (
	"slices"
	"testing"

	"mla/gen/target"
	"mla/runtime/plan"
)

// Shares returns the ranges of all tiers, from small chips to large ones.
func Shares() (dense, moe []Range) {
	for _, t := range target.Predictions {
		d, m := Range{t.Tier.Dense.Low, t.Tier.Dense.High}, Range{t.Tier.MoE.Low, t.Tier.MoE.High}
		if !slices.Contains(dense, d) {
			dense, moe = append(dense, d), append(moe, m)
		}
	}
	return dense, moe
}

// Timings returns the timings that the HTML page shows.
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
