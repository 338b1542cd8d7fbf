package target

// deltaTurns are the columns of a state that a threadgroup moves on at a time in prompts.
var deltaTurns = table[int]{
	{"", 16, Source{Estimated, "", "2026-11-28", "four simdgroups, one for each scheduler of a core"}},
}

// DeltaTurn is how many of a head's columns a threadgroup moves on at a time.
func (t Target) DeltaTurn(dim int) int { return min(deltaTurns.of(t.class).is, dim) }

// DeltaColumns is how many of a head's columns a threadgroup has: in whole turns, and so few that all heads together have
// a threadgroup for each core, or nearly.
func (t Target) DeltaColumns(heads, dim int) int {
	columns := dim
	for columns%2 == 0 && columns/2 >= t.DeltaTurn(dim) && 2*heads*(dim/columns) <= t.Cores() {
		columns /= 2
	}
	return columns
}
