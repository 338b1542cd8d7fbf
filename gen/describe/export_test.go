package describe

// Shares are those of the tiers, from small chips to large ones.
func Shares() (dense, moe []Range) {
	for _, t := range []*tier{&proTier, &maxTier, &ultraTier} {
		dense, moe = append(dense, t.dense.Range), append(moe, t.moe.Range)
	}
	return dense, moe
}

// Timings are those of the page.
func Timings(r *Report) []Timing { return r.timings() }
